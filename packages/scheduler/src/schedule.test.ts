// The structure of schedules: what becomes one kernel, in which loops, what is stored, and what is said about it.
import { describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import { contiguousMeta, scalar } from '@tsinductor/graph';
import type { ValueRef } from '@tsinductor/graph';
import { printIndex, printSchedule } from '@tsinductor/ir';
import type { Group, Schedule } from '@tsinductor/ir';
import { input, scheduled, sketches } from './test-support/scheduled.ts';
import type { Build } from './test-support/scheduled.ts';

const stored = (plan: Schedule): readonly number[] =>
  plan.buffers.filter((buffer) => buffer.kind === 'workspace').map(({ buffer }) => buffer);
const locals = (group: Group): readonly string[] => group.locals.map(({ kind, size }) => `${kind} ${printIndex(size)}`);

describe('one kernel', () => {
  test('softmax: the exponentials stay in a row', () => {
    const plan = scheduled((b) => b.call('softmax', [input(b, [4, 8, 16])], { dim: -1 }));
    expect(sketches(plan)).toEqual(['32(16r(amax) 16r(exp sum) reciprocal 16(mul))']);
    expect(locals(at(plan.groups, 0))).toEqual(['scalar 1', 'row 16', 'scalar 1', 'scalar 1']);
    expect(stored(plan)).toEqual([]);
  });

  test('layer norm', () => {
    const plan = scheduled((b) =>
      b.call('layerNorm', [input(b, [4, 8, 16]), input(b, [16]), input(b, [16])], { normalizedShape: [16] }),
    );
    expect(sketches(plan)).toEqual(['32(16r(sum) div 16r(sum) rsqrt 16(add))']);
    expect(stored(plan)).toEqual([]);
  });

  test('residual, RMS norm and cast, with the residual as a second output', () => {
    const plan = scheduled((b) => {
      const [x, residual, weight] = [input(b, [8, 32], 'bf16'), input(b, [8, 32], 'bf16'), input(b, [32], 'bf16')];
      const hidden = b.call('add', [x, residual]);
      const wide = b.call('to', [hidden], { dtype: { dtype: 'f32' } });
      const mean = b.call('mean', [b.call('mul', [wide, wide])], { dim: [-1], keepdim: true });
      const normal = b.call('mul', [wide, b.call('rsqrt', [b.call('add', [mean, scalar(1e-6)])])]);
      return [b.call('to', [b.call('mul', [normal, weight])], { dtype: { dtype: 'bf16' } }), hidden];
    });
    expect(sketches(plan)).toEqual(['8(32r(add sum) rsqrt 32(cast))']);
  });

  test('a gelu gate over the halves of an input', () => {
    const plan = scheduled((b) => {
      const [left, right] = b.callAll('chunk', [input(b, [8, 32])], { chunks: 2, dim: -1 });
      return b.call('mul', [b.call('gelu', left === undefined ? [] : [left]), ...(right === undefined ? [] : [right])]);
    });
    expect(sketches(plan)).toEqual(['8 16(mul)']);
  });

  test('a.T + b is written in the order of memory', () => {
    const plan = scheduled((b) =>
      b.call('add', [b.call('permute', [input(b, [8, 16])], { dims: [1, 0] }), input(b, [16, 8])]),
    );
    expect(sketches(plan)).toEqual(['16 8(add)']);
  });

  test('factors of the rows and of the columns of a sum over both: their loops are of one size, and not the same', () => {
    const plan = scheduled((b) => {
      const [rows, columns] = [b.call('log', [input(b, [16])]), b.call('exp', [input(b, [16])])];
      const scaled = b.call('mul', [input(b, [16, 16]), b.call('unsqueeze', [rows], { dim: 1 })]);
      return [b.call('sum', [b.call('mul', [scaled, columns])]), rows, columns];
    });
    expect(sketches(plan)).toEqual(['(16(log) 16(exp) 16r 16r(sum))']);
  });

  test('a chain of permutations and reshapes has no divisions left', () => {
    const plan = scheduled((b) => {
      const turned = b.call('exp', [b.call('permute', [b.call('sin', [input(b, [4, 8, 6])])], { dims: [2, 0, 1] })]);
      return b.call('add', [
        b.call('reshape', [b.call('permute', [turned], { dims: [1, 0, 2] })], { shape: [24, 8] }),
        scalar(1),
      ]);
    });
    expect(sketches(plan)).toEqual(['4 6 8(add)']);
    expect(JSON.stringify(plan.groups)).not.toMatch(/floorDiv|"mod"/);
  });

  test('a pointwise chain is one loop, whatever its rank', () => {
    expect(sketches(scheduled((b) => b.call('relu', [b.call('exp', [input(b, [2, 3, 4])])])))).toEqual(['24(relu)']);
  });

  test('several outputs of one input, a reduction among them', () => {
    const plan = scheduled((b) => {
      const x = input(b, [64, 32]);
      return [b.call('relu', [x]), b.call('exp', [x]), b.call('sum', [x], { dim: [1] })];
    });
    expect(sketches(plan)).toEqual(['64 32r(relu exp sum)']);
  });

  test('two reductions of one input share its loop', () => {
    const plan = scheduled((b) => {
      const x = input(b, [64, 32]);
      return b.call('sub', [b.call('amax', [x], { dim: [1] }), b.call('sum', [x], { dim: [1] })]);
    });
    expect(sketches(plan)).toEqual(['64(32r(amax sum) sub)']);
  });

  test('a concatenation is computed inside its reader, also of a broadcast reduction', () => {
    const plan = scheduled((b) => {
      const [x, y] = [input(b, [4, 8]), input(b, [4, 8])];
      const scaled = b.call('mul', [y, b.call('sum', [y], { dim: [1], keepdim: true })]);
      return b.call('exp', [b.call('cat', [[b.call('sin', [x]), scaled]], { dim: 1 })]);
    });
    expect(sketches(plan)).toEqual(['4(8r(sum) 16(exp))']);
  });

  test('batch statistics and what they normalise, channel by channel', () => {
    const plan = scheduled((b) => {
      const x = input(b, [4, 8, 64]);
      const mean = b.call('mean', [x], { dim: [0, 2], keepdim: true });
      return b.call('sub', [x, mean]);
    });
    expect(sketches(plan)).toEqual(['8(4r 64r(sum) div 4 64(sub))']);
  });
});

describe('reductions', () => {
  test('of rows, of columns, of everything', () => {
    const sum = (dim: readonly number[]): readonly string[] =>
      sketches(scheduled((b) => b.call('mean', [input(b, [64, 32])], { dim })));
    expect(sum([1])).toEqual(['64(32r(sum) div)']);
    expect(sum([0])).toEqual(['32(64r(sum) div)']);
    expect(sum([0, 1])).toEqual(['(2048r(sum) div)']);
  });

  test('cross entropy is two kernels: rows, then their mean', () => {
    const plan = scheduled((b) => b.call('crossEntropy', [input(b, [8, 100]), input(b, [8], 'i64')]));
    expect(plan.groups).toHaveLength(2);
  });

  test('what follows the mean of a large vector is another kernel, and says why', () => {
    const plan = scheduled((b) => {
      const x = input(b, [100_000]);
      return b.call('sub', [x, b.call('mean', [x])]);
    });
    expect(sketches(plan)).toEqual(['(100000r(sum) div)', '100000(sub)']);
    expect(printSchedule(plan)).toMatch(/not fused .*too few outer iterations/);
  });

  test('long columns are not walked again', () => {
    const plan = scheduled((b) => {
      const x = input(b, [4096, 32]);
      return b.call('sub', [x, b.call('mean', [x], { dim: [0], keepdim: true })]);
    });
    expect(plan.groups).toHaveLength(2);
    expect(printSchedule(plan)).toMatch(/walk down columns/);
  });
});

describe('inlining', () => {
  test('a cheap value with two readers is computed in both', () => {
    const plan = scheduled((b) => {
      const shifted = b.call('add', [input(b, [64]), scalar(1)]);
      return [b.call('neg', [shifted]), b.call('sum', [shifted])];
    });
    const reasons = plan.decisions.flatMap((decision) => (decision.kind === 'inlined' ? [decision.reason] : []));
    expect(reasons).toEqual(['it is used 2 times, and is cheaper to compute again than to store']);
  });

  test('an expensive value of columns is not computed again for every row', () => {
    const plan = scheduled((b) => b.call('mul', [input(b, [64, 32]), b.call('exp', [input(b, [32])])]));
    expect(sketches(plan)).toEqual(['32(exp)', '64 32(mul)']);
  });

  test('operands of matrix products are computed where the product reads them, if they are cheap; else stored', () => {
    const product =
      (op: string): Build =>
      (b) =>
        b.call('bmm', [b.call(op, [input(b, [2, 3, 4])]), input(b, [2, 4, 5])]);
    expect(sketches(scheduled(product('neg')))).toEqual(['2 3 5 4r(bmm)']);
    const stored = scheduled(product('neg'), { prologueFusion: false });
    expect(sketches(stored)).toEqual(['24(neg)', '2 3 5 4r(bmm)']);
    expect(printSchedule(stored)).toMatch(/operand of a matrix product/);
    const heavy = scheduled(product('erf'));
    expect(sketches(heavy)).toEqual(['24(erf)', '2 3 5 4r(bmm)']);
    expect(printSchedule(heavy)).toMatch(/it is expensive, and parts of it may be read again/);
  });

  test('f16 stays in f32 inside a kernel, unless every rounding is asked for', () => {
    const chain: Build = (b) => b.call('mul', [b.call('add', [input(b, [8], 'f16'), scalar(1)]), scalar(2)]);
    const casts = (plan: Schedule): number => JSON.stringify(plan.groups).split('"cast"').length - 1;
    expect(casts(scheduled(chain, { emulatePrecisionCasts: true }))).toBe(casts(scheduled(chain)) + 2);
  });

  test('thresholds come from the configuration', () => {
    const diamond: Build = (b) => {
      const sum = b.call('add', [input(b, [8]), input(b, [8])]);
      return b.call('mul', [b.call('neg', [sum]), b.call('sum', [sum])]);
    };
    const inlinesAdd = (plan: Schedule): boolean =>
      plan.decisions.some((decision) => decision.kind === 'inlined' && decision.producer.startsWith('add'));
    expect(inlinesAdd(scheduled(diamond))).toBe(true);
    expect(inlinesAdd(scheduled(diamond, { realizeReadsThreshold: 1 }))).toBe(false);
  });
});

describe('empty loops', () => {
  test('a node over no points reads nothing, a reduction over no elements is its initial value', () => {
    const plan = scheduled((b) => {
      const x = b.call('exp', [input(b, [0, 4])]);
      return [
        b.call('add', [x, input(b, [4])]),
        b.call('sum', [x], { dim: [0] }),
        b.call('pad', [x], { pad: [0, 0, 1, 0], value: scalar(3) }),
      ];
    });
    expect(plan.groups.every(({ reads }) => reads.length === 0)).toBe(true);
    expect(sketches(plan)).toEqual(['0(add)', '4(sum)', '4(pad)']);
  });
});

describe('groups', () => {
  test('symbolic sizes: the same groups, with rows in the workspace', () => {
    const plan = scheduled((b) => {
      const shape = [b.sizes.declare('s0', 8), b.sizes.declare('s1', 5)];
      return b.call('softmax', [b.placeholder('x', contiguousMeta(shape, 'f32'))], { dim: -1 });
    });
    expect(sketches(plan)).toEqual(['s0(s1r(amax) s1r(exp sum) reciprocal s1(mul))']);
    expect(stored(plan)).toHaveLength(1);
  });

  test('attention: products apart, the softmax between them one kernel', () => {
    const plan = scheduled((b) => {
      const [q, k, v] = [input(b, [2, 3, 8, 4]), input(b, [2, 3, 8, 4]), input(b, [2, 3, 8, 4])];
      const scores = b.call('matmul', [q, b.call('transpose', [k], { dim0: -1, dim1: -2 })]);
      return b.call('matmul', [b.call('softmax', [b.call('mul', [scores, scalar(0.5)])], { dim: -1 }), v]);
    });
    expect(sketches(plan)).toEqual(['6 8 8 4r(bmm)', '48(8r(amax) 8r(exp sum) reciprocal 8(mul))', '6 8 4 8r(bmm)']);
  });

  test('a value on the way through another kernel keeps two nodes apart', () => {
    const plan = scheduled(
      (b) => {
        const x = b.call('exp', [input(b, [4, 4])]);
        const product = b.call('matmul', [x, input(b, [4, 4])]);
        return b.call('add', [x, product]);
      },
      { epilogueFusion: false },
    );
    expect(plan.groups).toHaveLength(3);
    expect(printSchedule(plan)).toMatch(/another group has to run between them/);
  });

  test('at most maxFusionSize nodes', () => {
    const plan = scheduled((b) => b.call('softmax', [input(b, [8, 16])], { dim: -1 }), { maxFusionSize: 2 });
    expect(plan.groups.every(({ nodes }) => nodes.length <= 2)).toBe(true);
    expect(printSchedule(plan)).toMatch(/more than 2 nodes/);
  });

  test('names are readable, of at most 60 characters, and the same for groups that do the same', () => {
    const plan = scheduled((b) => {
      const x = input(b, [8, 8]);
      const turn = (value: ValueRef): ValueRef => b.call('matmul', [value, value]);
      const long = [
        'sin',
        'cos',
        'tan',
        'asinh',
        'acosh',
        'atanh',
        'sigmoid',
        'softplus',
        'hardswish',
        'logSigmoid',
        'expm1',
        'log1p',
        'erfinv',
      ];
      return [turn(turn(x)), long.reduce((value, target) => b.call(target, [value]), x)];
    });
    const names = plan.groups.map(({ name }) => name);
    for (const name of names) expect(name).toMatch(/^[a-z][a-z0-9_]{0,59}$/);
    expect(names.filter((name) => name === 'matmul')).toHaveLength(2);
  });
});

describe('memory', () => {
  test('a temporary takes the place of one that is dead', () => {
    const plan = scheduled((b) => {
      const turn = (value: ValueRef): ValueRef => b.call('matmul', [value, value]);
      return turn(turn(turn(turn(input(b, [16, 16])))));
    });
    expect(printIndex(plan.workspaceBytes)).toBe('2048');
    expect(plan.decisions).toContainEqual(expect.objectContaining({ kind: 'reused' }));
  });

  test('of symbolic size, too, where the size is the same', () => {
    const plan = scheduled((b) => {
      const size = b.sizes.declare('s0', 8);
      const turn = (value: ValueRef): ValueRef => b.call('matmul', [value, value]);
      return turn(turn(turn(turn(b.placeholder('x', contiguousMeta([size, size], 'f32'))))));
    });
    expect(
      new Set(plan.buffers.flatMap((place) => (place.kind === 'workspace' ? [printIndex(place.offset)] : []))).size,
    ).toBe(2);
  });
});

test('a long chain is scheduled in time that grows with its length', () => {
  const chain =
    (length: number): Build =>
    (b) => {
      let x = input(b, [64]);
      const y = input(b, [64]);
      for (let step = 0; step < length; step += 1) x = b.call(step % 3 === 0 ? 'mul' : 'add', [x, y]);
      return x;
    };
  const milliseconds = (length: number): number => {
    const start = performance.now();
    scheduled(chain(length));
    return performance.now() - start;
  };
  milliseconds(500);
  expect(milliseconds(2000)).toBeLessThan(40 * Math.max(20, milliseconds(250)));
});
