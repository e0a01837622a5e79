// Loops' ranges, hints, and what helps to debug.
import { at, dtypeInfo } from '@tsinductor/base';
import { tileSize } from '@tsinductor/ir';
import type { HintFact, Tile } from '@tsinductor/ir';
import { asTest, broadcastAll } from '../lower/coerce.ts';
import { faultAt } from '../lower/context.ts';
import { foldTiles } from '../lower/fold.ts';
import { numberValue, tileValue, undefinedValue } from '../lower/value.ts';
import type { KernelValue } from '../lower/value.ts';
import { entry } from './define.ts';
import type { Call, LanguageEntry } from './define.ts';

function rangeOf(call: Call, isStatic: boolean): KernelValue {
  const from = call.has('end') ? call.value('start') : numberValue(0);
  const to = call.has('end') ? call.value('end') : call.value('start');
  const step = call.has('step') ? call.value('step') : numberValue(1);
  if (step.kind === 'number' && step.value === 0)
    return call.refuse('step', 'a step that advances', 'use a step that is not 0');
  const numStages = call.has('numStages') ? call.known('numStages') : undefined;
  return { kind: 'range', from, to, step, isStatic, numStages };
}

export const range: LanguageEntry = entry(
  'A loop when the kernel runs: for (const i of tl.range(0, n)).',
  ['start', 'end?', 'step?', 'numStages?'],
  (call) => rangeOf(call, false),
);
export const staticRange: LanguageEntry = entry(
  'A loop that is unrolled when the kernel is compiled.',
  ['start', 'end?', 'step?'],
  (call) => {
    for (const name of ['start', 'end', 'step']) if (call.has(name)) call.known(name);
    return rangeOf(call, true);
  },
);

const hint = (fact: HintFact, doc: string): LanguageEntry =>
  entry(doc, ['x', 'values'], (call) => {
    const values = call.numbers('values');
    const value = call.value('x');
    const { builder } = call.site.context;
    if (value.kind === 'pointer')
      return { ...value, offsets: builder.op({ op: 'hint', attrs: { fact, values }, args: [value.offsets] }) };
    return tileValue(builder.op({ op: 'hint', attrs: { fact, values }, args: [call.integers('x')] }));
  });

export const multipleOf: LanguageEntry = hint(
  'multipleOf',
  'Vouches that each run of consecutive elements begins at a multiple.',
);
export const maxContiguous: LanguageEntry = hint(
  'maxContiguous',
  'Vouches that groups of so many elements are consecutive.',
);
export const maxConstancy: LanguageEntry = hint('maxConstancy', 'Vouches that groups of so many elements are equal.');

export const debugBarrier: LanguageEntry = entry('Orders memory within an instance.', [], (call) => {
  call.requireInstance();
  call.site.context.builder.act({ op: 'barrier', attrs: { scope: 'instance' }, args: [] });
  return undefinedValue;
});

export const staticAssert: LanguageEntry = entry(
  'Stops the compilation where a known test is false.',
  ['test', 'message?'],
  (call) => {
    const test = call.value('test');
    const holds = test.kind === 'boolean' ? test.value : call.known('test') !== 0;
    if (holds) return undefinedValue;
    throw faultAt(call.site.node, call.site.context, [
      'KERNEL_STATIC_ASSERT',
      `a static assertion does not hold${call.has('message') ? `: ${call.text('message')}` : ''}`,
      'change the constants of the launch, or the assertion',
    ]);
  },
);

/** How many values one print takes. */
const printed = ['x0?', 'x1?', 'x2?', 'x3?', 'x4?', 'x5?', 'x6?', 'x7?'];

export const devicePrint: LanguageEntry = entry(
  'Prints a line for each element of each value: pid (0, 0, 0) idx (3), the prefix, the element.',
  ['prefix', ...printed],
  (call) => {
    call.requireInstance();
    const prefix = call.plainText('prefix');
    const values = printed.map((name) => name.slice(0, -1)).filter((name) => call.has(name));
    const { builder } = call.site.context;
    const args = values.map((name) => {
      const tile = call.tile(name);
      return builder.cast(tile, dtypeInfo[tile.dtype].compute);
    });
    builder.act({ op: 'print', attrs: { prefix }, args });
    return undefinedValue;
  },
);

/** Whether a test holds for each element that a mask, if there is one, does not leave out: a scalar. */
function holdsEverywhere(call: Call): Tile {
  const { builder } = call.site.context;
  const test = asTest(call.value('test'), call.at('test'));
  const mask = call.has('mask') ? [asTest(call.value('mask'), call.at('mask'))] : [];
  const [given = test, ...masked] = broadcastAll([test, ...mask], call.site);
  const holds = masked.reduce(
    (all, one) => builder.apply('logicalOr', [all, builder.apply('logicalNot', [one])]),
    given,
  );
  if (holds.shape.length === 0) return holds;
  const flat = builder.reshape(holds, [tileSize(holds.shape)]);
  const combine = ([left]: readonly Tile[], [right]: readonly Tile[]): readonly Tile[] => [
    builder.apply('logicalAnd', [left ?? flat, right ?? flat]),
  ];
  return at(foldTiles({ kind: 'reduce', args: [flat], axis: 0, combine }, call.site), 0);
}

export const deviceAssert: LanguageEntry = entry(
  'A fault where a test is false: the launch fails, and the instance goes no further.',
  ['test', 'message?', 'mask?'],
  (call) => {
    call.requireInstance();
    const message = call.has('message') ? call.plainText('message') : '';
    call.site.context.builder.act({ op: 'assert', attrs: { message }, args: [holdsEverywhere(call)] });
    return undefinedValue;
  },
);

export const assume: LanguageEntry = entry(
  'Vouches that a test of scalars holds. The interpreter holds it against the values.',
  ['test'],
  (call) => {
    call.requireInstance();
    const test = asTest(call.value('test'), call.at('test'));
    if (test.shape.length > 0)
      return call.refuse('test', 'a test of scalars', 'use tl.deviceAssert for each element of a block');
    call.site.context.builder.act({ op: 'assume', attrs: { scope: 'instance' }, args: [test] });
    return undefinedValue;
  },
);
