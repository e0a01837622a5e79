// Scatter nodes: the out is filled (by a copy of the initial buffer, or zeros), then updated point by point. Where points
// collide, their order is part of the meaning; it is kept by giving all points that can collide to one thread. Updates of
// integers that give the same in any order are atomic, a thread a point.
import { at, dtypeInfo } from '@tsinductor/base';
import type { Frame } from '@tsinductor/codegen';
import type { DType } from '@tsinductor/base';
import { BodyEvaluator, emptyFrame, evaluationAt, product, staticValue } from '@tsinductor/codegen';
import { coefficientOf, freeAxes, int, rangeOf, substitute } from '@tsinductor/ir';
import type { AtomicOp, Axis, Index, LoopNode, Value } from '@tsinductor/ir';
import type { PointwiseName } from '@tsinductor/ops';
import { hasAtomic } from '../prelude/machine-functions.ts';
import { mapThreads, mostBlocks } from '../target.ts';
import { axisLoops, byThreadsOfGrid, gridOf, share } from './nest.ts';
import type { Grid, Nest } from './nest.ts';

type Scatter = LoopNode & { readonly kind: 'scatter' };

const combiners: Readonly<Record<Exclude<Scatter['mode'], 'set'>, PointwiseName>> = {
  add: 'add',
  multiply: 'mul',
  min: 'minimum',
  max: 'maximum',
};

const atomicOps: Readonly<Partial<Record<Scatter['mode'], AtomicOp>>> = { add: 'add', min: 'minimum', max: 'maximum' };

const gridFor = (points: Index): Grid => gridOf(points, { threads: mapThreads, most: mostBlocks });

/** out := initial, or zeros, over the flat buffer. */
export function writeFill(nest: Nest, node: Scatter): Grid {
  const { memory, writer } = nest;
  const out = at(node.outs, 0);
  const { dtype, size } = memory.decl(out);
  const axis: Axis = { name: 'e', extent: size };
  share(nest, [axis], {
    sharing: byThreadsOfGrid(nest, mapThreads),
    frame: emptyFrame,
    body: (frame) => {
      const access = (name: string) => ({
        buffer: name,
        at: frame.axes.get('e') ?? int(0),
        step: int(0),
        align: dtypeInfo[dtype].bytes,
      });
      const type = { dtype, lanes: 1 };
      const value: Value =
        node.initial === undefined
          ? { kind: 'constant', value: 0, type }
          : { kind: 'load', type, access: access(memory.parameter(node.initial).name) };
      writer.emit({ kind: 'store', access: access(memory.parameter(out).name), value });
    },
  });
  nest.notes.push('fills the result of a scatter');
  return gridFor(size);
}

export function writeUpdates(nest: Nest, node: Scatter): Grid {
  const { dtype } = nest.memory.decl(at(node.outs, 0));
  const op = atomicOps[node.mode];
  const sharing = byThreadsOfGrid(nest, mapThreads);
  if (op !== undefined && hasAtomic(op, dtype)) {
    nest.notes.push('scatter, atomic updates');
    share(nest, node.axes, {
      sharing,
      frame: emptyFrame,
      body: (frame) => {
        updateAtomically(nest, node, { op, frame });
      },
    });
    return gridFor(product(node.axes.map(({ extent }) => extent)));
  }
  const apart = node.axes.filter((axis) => isApart(node, axis));
  const inOrder = node.axes.filter((axis) => !apart.includes(axis));
  const names = inOrder.map(({ name }) => name).join(', ');
  nest.notes.push(`scatter, in order of ${names === '' ? 'nothing: no two points collide' : names}`);
  share(nest, apart, {
    sharing,
    frame: emptyFrame,
    body: (frame) => {
      axisLoops(nest, inOrder, {
        frame,
        body: (inner) => {
          update(nest, node, inner);
        },
      });
    },
  });
  return gridFor(product(apart.map(({ extent }) => extent)));
}

interface Digit {
  readonly weight: number;
  /** How many values it takes, from 0. */
  readonly count: number;
  readonly axis: string | undefined;
}

/** Whether two points that differ in `axis` write to different places: the place is a number of which it is a digit. */
function isApart(node: Scatter, axis: Axis): boolean {
  const write = at(node.writes, 0);
  const digits: Digit[] = [];
  for (const own of node.axes) {
    if (!freeAxes(write).has(own.name)) continue;
    const weight = staticNumber(coefficientOf(write, own));
    const count = staticValue(own.extent);
    if (weight === undefined || weight <= 0 || count === undefined) return false;
    digits.push({ weight, count, axis: own.name });
  }
  const rest = substitute(write, new Map(node.axes.map(({ name }) => [name, int(0)])));
  const looked = indirectDigits(rest);
  if (looked === undefined) return false;
  const ordered = [...digits, ...looked].sort((left, right) => left.weight - right.weight);
  let reach = 0;
  for (const { weight, count } of ordered) {
    if (weight <= reach) return false;
    reach += weight * (count - 1);
  }
  return digits.some((digit) => digit.axis === axis.name);
}

const staticNumber = (index: Index | undefined): number | undefined =>
  index?.kind === 'int' ? index.value : undefined;

/** The digits that loaded indices are; undefined where the index is made of anything else. */
function indirectDigits(index: Index): readonly Digit[] | undefined {
  const items = (index.kind === 'sum' ? index.items : [index]).filter(({ kind }) => kind !== 'int');
  const digits = items.map(indirectDigit).filter((digit) => digit !== undefined);
  return digits.length === items.length ? digits : undefined;
}

/** `indirect`, or `constant * indirect`. */
function indirectDigit(item: Index): Digit | undefined {
  const [first, second, ...more] = item.kind === 'product' ? item.items : [int(1), item];
  if (first?.kind !== 'int' || second?.kind !== 'indirect' || more.length > 0) return undefined;
  const { min, max } = rangeOf(second);
  return min !== 0 || max === null ? undefined : { weight: first.value, count: max + 1, axis: undefined };
}

interface Place {
  readonly access: { readonly buffer: string; readonly at: Index; readonly step: Index; readonly align: number };
  readonly dtype: DType;
  readonly value: Value;
}

function placeAt(nest: Nest, node: Scatter, frame: Frame): Place {
  const evaluator = new BodyEvaluator(node.body, evaluationAt(nest, frame));
  const place = evaluator.resolve(at(node.writes, 0));
  const value = evaluator.value(at(node.body.results, 0));
  const { name, dtype } = nest.memory.parameter(at(node.outs, 0));
  return { access: { buffer: name, at: place, step: int(0), align: dtypeInfo[dtype].bytes }, dtype, value };
}

function updateAtomically(nest: Nest, node: Scatter, { op, frame }: { op: AtomicOp; frame: Frame }): void {
  const { access, dtype, value } = placeAt(nest, node, frame);
  nest.writer.emit({ kind: 'atomic', op, access, value: cast(nest, value, dtype) });
}

function update(nest: Nest, node: Scatter, frame: Frame): void {
  const { writer } = nest;
  const { access, dtype, value } = placeAt(nest, node, frame);
  if (node.mode === 'set') {
    writer.emit({ kind: 'store', access, value });
    return;
  }
  const { compute } = dtypeInfo[dtype];
  const old = writer.define({ kind: 'load', type: { dtype, lanes: 1 }, access }, 'old', writer.depth);
  const args = [cast(nest, old, compute), cast(nest, value, compute)];
  const type = { dtype: compute, lanes: 1 };
  const combined = writer.define({ kind: 'apply', op: combiners[node.mode], args, type }, 'updated', writer.depth);
  writer.emit({ kind: 'store', access, value: cast(nest, combined, dtype) });
}

const cast = ({ writer }: Nest, value: Value, to: DType): Value =>
  value.type.dtype === to
    ? value
    : writer.define({ kind: 'cast', value, type: { dtype: to, lanes: 1 } }, 'converted', writer.depth);
