// Maps and scatters as loops in row-major order.
import { at, dtypeInfo } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { BodyBuilder } from '@tsinductor/ir';
import type { BufferId, MapNode, ScatterNode } from '@tsinductor/ir';
import type { PointwiseName } from '@tsinductor/ops';
import { elementValue, writeBody, writeOverStates } from './body-writer.ts';
import type { Written } from './body-writer.ts';
import { KernelText } from './kernel-text.ts';
import type { Helpers } from './kernel-text.ts';
import { coordinatesOf, indexesOf, loopOver, loopsOf } from './loop-form.ts';
import type { LoopForm } from './loop-form.ts';
import { Nest } from './nest.ts';
import type { Value } from './values.ts';
import { storeLines, storeResults } from './write-values.ts';

/** What a printer of nodes needs besides the node. */
export interface Printing {
  readonly helpers: Helpers;
  readonly dtypeOf: (buffer: BufferId) => DType;
}

export type Printed = ReturnType<KernelText['finish']>;

export function printMap(form: LoopForm<MapNode>, { helpers, dtypeOf }: Printing): Printed {
  const { node } = form;
  const { kernel, nest, written } = pointsOf(form, helpers);
  const places = node.writes.map((write) => written.place(write));
  for (const line of storeResults(kernel, written.results, { outs: node.outs, places, dtypeOf }))
    nest.line(nest.innermost, line);
  return kernel.finish(nest.printFrom(0));
}

interface Points {
  readonly kernel: KernelText;
  readonly nest: Nest;
  readonly written: Written;
}

/** The body at every point of the node's axes. */
function pointsOf(form: LoopForm<MapNode | ScatterNode>, helpers: Helpers): Points {
  const { node, axes, place, isGiven } = form;
  const kernel = new KernelText(helpers);
  const joined = loopsOf(form, indexesOf([node.body], node.writes), axes.length);
  const loops = joined.map((own) => loopOver(kernel, axes, own));
  const nest = new Nest(kernel, loops);
  const coordinates = coordinatesOf(
    axes,
    loops.map(({ variable }, level) => ({ axes: at(joined, level), placed: { text: variable, level: level + 1 } })),
  );
  const written = writeBody(node.body, { kernel, nest, coordinates, place, isGiven, carried: noState });
  return { kernel, nest, written };
}

/** A map's body has no state. */
const noState = (slot: number): Value => ({ kind: 'number', text: `state${String(slot)}`, level: 0 });

/** How an element and what is added to it are joined. */
const combining: Readonly<Record<Exclude<ScatterNode['mode'], 'set'>, PointwiseName>> = {
  add: 'add',
  multiply: 'mul',
  min: 'minimum',
  max: 'maximum',
};

/** In ascending order of points, since several may write one element. */
export function printScatter(form: LoopForm<ScatterNode>, { helpers, dtypeOf }: Printing): Printed {
  const { node } = form;
  const { kernel, nest, written } = pointsOf(form, helpers);
  const buffer = at(node.outs, 0);
  const dtype = dtypeOf(buffer);
  const level = nest.innermost;
  const place = nest.define({ ...written.place(at(node.writes, 0)), level }, 'at');
  const value = at(written.results, 0);
  const next =
    node.mode === 'set'
      ? value
      : joinedValue(node.mode, { form, kernel, nest, dtype }, [
          { ...elementValue(kernel, { buffer, dtype, place: place.text }), level },
          { ...value, level },
        ]);
  for (const line of storeLines(kernel, next, { buffer, dtype, place })) nest.line(level, line);
  return kernel.finish(nest.printFrom(0));
}

interface Joining {
  readonly form: LoopForm<ScatterNode>;
  readonly kernel: KernelText;
  readonly nest: Nest;
  readonly dtype: DType;
}

/** What a mode makes of the element that is there and of what comes. */
function joinedValue(
  mode: Exclude<ScatterNode['mode'], 'set'>,
  { form, kernel, nest, dtype }: Joining,
  values: readonly Value[],
): Value {
  const builder = new BodyBuilder({ ops: 'decomposed' });
  const { compute } = dtypeInfo[dtype];
  const joined = builder.apply(combining[mode], [builder.carried(0, compute), builder.carried(1, compute)]);
  return at(
    writeOverStates(builder.finish([joined]), { kernel, nest, ...form }, (slot) => at(values, slot)),
    0,
  );
}
