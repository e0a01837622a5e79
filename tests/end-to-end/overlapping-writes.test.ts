// Writes to tensors several elements of which are one memory (expanded tensors, overlapping windows), eagerly and compiled:
// the same values in everything that shows the memory, or the same error. fill_ and zero_ may, as every element gets one
// value; other operators may not, whatever their values happen to be.
import { describe, expect, test } from '@jest/globals';
import { arange, compile, tensor, zeros } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { useOwnCache } from './own-cache.ts';

useOwnCache();

type Program = (x: Tensor) => Tensor | Tensor[];

/** A tensor, and the memory that it shows. */
type Made = readonly [x: Tensor, memory: Tensor];

const made = (memory: Tensor, view: (memory: Tensor) => Tensor): Made => [view(memory), memory];
const row = (): Made => made(tensor([1, 2, 3], { dtype: 'f32' }), (x) => x.expand([2, 3]));
const ones = (): Made => made(tensor([1], { dtype: 'f32' }), (x) => x.expand([3]));
const windows = (): Made => made(arange(4).to('f32'), (x) => x.unfold(0, 2, 1));
const plain = (): Made => made(arange(6).to('f32').reshape([2, 3]), (x) => x);

interface Outcome {
  readonly error?: readonly [code: string, message: string];
  readonly results?: unknown;
  /** What is in the memory afterwards. */
  readonly memory: unknown;
}

function outcomeOf(fn: Program, [x, memory]: Made): Outcome {
  try {
    const results = [fn(x)].flat().map((result) => result.toArray());
    return { results, memory: memory.toArray() };
  } catch (error) {
    const { code, message } = error as { code: string; message: string };
    return { error: [code, message.split(', at ')[0] ?? ''], memory: memory.toArray() };
  }
}

const modes = [
  ['natively', {}],
  ['by the interpreter', { backend: 'aot_eager' }],
  ['with the backend eager', { backend: 'eager' }],
] as const;

/** Each row in each mode, under both names. */
const inEveryMode = <Row extends readonly [string, ...unknown[]]>(
  rows: readonly Row[],
): { name: string; row: Row; options: (typeof modes)[number][1] }[] =>
  rows.flatMap((row) => modes.map(([mode, options]) => ({ name: `${row[0]}, ${mode}`, row, options })));

const allowed: readonly (readonly [name: string, make: () => Made, fn: Program, whole: boolean])[] = [
  ['fill_ of an expanded argument', row, (x) => x.fill_(7).mul(2), true],
  ['zero_ of overlapping windows', windows, (x) => [x.zero_(), x.sum()], true],
  ['fill_ of one element shown three times', ones, (x) => x.fill_(4), true],
  ['fill_ with a tensor', row, (x) => x.fill_(tensor(5, { dtype: 'f32' })).add(1), true],
  ['a number set everywhere', row, (x) => x.set([], 3).mul(1), true],
  ['fill_ of a row that the function expands', plain, (x) => (x.at(0).expand([4, 3]).fill_(9), x.mul(1)), true],
  ['fill_ of a transposed view of it', plain, (x) => (x.at(1).expand([4, 3]).t().fill_(9), x.mul(1)), true],
  ['zero_ of windows that the function makes', plain, (x) => (x.reshape([6]).unfold(0, 3, 2).zero_(), x.mul(1)), true],
  ['a write to one place of an expanded argument', row, (x) => (x.at(0).add_(1), x.mul(1)), false],
  ['fill_ of one place of an expanded argument', row, (x) => (x.at(1).fill_(8), x.mul(1)), false],
  ['a write to one window', windows, (x) => (x.at(1).mul_(10), x.mul(1)), false],
  ['a write to one place of a view', plain, (x) => { x.at(0).expand([2, 3]).at(1).add_(1); return x.mul(1); }, false],
  ['fill_, then a write to one place', row, (x) => (x.fill_(2), x.at(0).mul_(3), x.mul(1)), false],
]; // prettier-ignore

describe('are what eager mode does', () => {
  test.each(inEveryMode(allowed))('$name', ({ options, row: [, make, fn, whole] }) => {
    const eager = outcomeOf(fn, make());
    expect(eager.error).toBeUndefined();
    const compiled = compile(fn, options);
    // Twice: as it is traced, and from what was compiled.
    for (let call = 0; call < 2; call += 1) expect(outcomeOf(compiled, make())).toEqual(eager);
    if ('backend' in options && options.backend === 'eager') return;
    const reasons = compiled.explain().breaks.map(({ reason }) => reason);
    if (whole) expect(reasons).toEqual([]);
    else expect(reasons).toContainEqual(expect.stringMatching(/memory that an expanded or overlapping tensor shows/));
  });

  test('as one graph, unless a part of the memory is written', () => {
    expect(compile((x: Tensor) => x.fill_(7), { fullgraph: true })(row()[0]).toArray()).toEqual([
      [7, 7, 7],
      [7, 7, 7],
    ]);
    expect(() => compile((x: Tensor) => x.at(0).add_(1), { fullgraph: true })(row()[0])).toThrow(
      expect.objectContaining({ code: 'GRAPH_BREAK' }),
    );
  });
});

const refused: readonly (readonly [name: string, make: () => Made, fn: Program])[] = [
  ['add_', row, (x) => x.add_(1)],
  ['a value that is the same everywhere', ones, (x) => x.add_(1)],
  ['mul_ by an expanded zero', row, (x) => x.mul_(0)],
  ['copy_', ones, (x) => x.copy_(zeros([3]))],
  ['relu_ of windows', windows, (x) => x.relu_()],
  ['a tensor that is set', row, (x) => x.set([], zeros([2, 3]))],
  ['a view that the function expands', plain, (x) => x.at(0).expand([2, 3]).mul_(2)],
  ['after another write', plain, (x) => (x.add_(1), x.at(0).expand([2, 3]).sub_(1))],
];

describe('are refused with one text', () => {
  test.each(inEveryMode(refused))('$name', ({ options, row: [, make, fn] }) => {
    const eager = outcomeOf(fn, make());
    expect(eager.error?.[0]).toBe('WRITE_OVERLAP');
    const found = outcomeOf(compile(fn, options), make());
    expect(found.error).toEqual(eager.error);
  });

  test('whatever reads a value first', () => {
    const fn: Program = (x) => (x.sum().item() === 0 ? x : x.add_(1));
    expect(outcomeOf(compile(fn), row()).error).toEqual(outcomeOf(fn, row()).error);
  });

  test('out= as well', () => {
    const fn: Program = (x) =>
      tensor([1, 2], { dtype: 'f32' })
        .reshape([2, 1])
        .add(zeros([2, 3]), { out: x } as never);
    const eager = outcomeOf(fn, row());
    expect(eager.error?.[0]).toBe('WRITE_OVERLAP');
    expect(outcomeOf(compile(fn), row()).error).toEqual(eager.error);
  });
});
