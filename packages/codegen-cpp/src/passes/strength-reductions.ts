// Ops that take a machine long become others with the same bits. In: a value, its operands changed before. Out: an op of the machine
// (see `targetOps`), or the value itself. Which op it is says the spelling that the op table has for it.
import { dtypeInfo, isFloat } from '@tsinductor/base';
import type { Value, ValueType } from '@tsinductor/ir';
import { pointwise } from '@tsinductor/ops';
import { registerModels } from '../machine/isa.ts';
import type { Machine, MachinePass } from './machine-pass.ts';
import { splitReciprocal } from './split-reciprocal.ts';

type Apply = Value & { readonly kind: 'apply' };

interface Reduction {
  /** The operator or function of the prelude that spells the op. */
  readonly spelling: string;
  readonly isFor: (type: ValueType, machine: Machine) => boolean;
  readonly reduced: (value: Apply) => Value | undefined;
}

/** Whether a vector of floats is one register of an x86. */
const isInRegister = ({ dtype, lanes }: ValueType, { isa }: Machine): boolean =>
  (isa === 'avx512' || isa === 'avx2') &&
  lanes > 1 &&
  isFloat(dtype) &&
  dtypeInfo[dtype].bytes * lanes <= registerModels[isa].vectorBytes;

/** Whether a register of AVX-512 is divided, and its root taken, in the time of many products. */
const isDividedSlowly = ({ dtype, lanes }: ValueType, machine: Machine): boolean =>
  machine.isa === 'avx512' && dtype === 'f32' && lanes === 16 && machine.dividesByProducts;

function numberOf(value: Value): number | undefined {
  const constant = value.kind === 'broadcast' ? value.value : value;
  return constant.kind === 'constant' && typeof constant.value === 'number' ? constant.value : undefined;
}

/** Constants are what programs divide by most. */
function quotient({ type, args }: Apply): Value | undefined {
  const [, y] = args;
  if (y?.kind !== 'constant' || typeof y.value !== 'number') return undefined;
  const parts = splitReciprocal(Math.fround(y.value));
  if (parts === undefined) return undefined;
  const numbers = [parts.high, parts.low, parts.leastExponent];
  return { kind: 'target', op: 'quotientByProducts', args, numbers, type };
}

const reductions: readonly Reduction[] = [
  {
    spelling: '*',
    isFor: isInRegister,
    reduced: ({ type, args: [x, y] }) => {
      const doubled = y !== undefined && numberOf(y) === 2 ? x : x !== undefined && numberOf(x) === 2 ? y : undefined;
      return doubled && { kind: 'target', op: 'twice', args: [doubled], numbers: [], type };
    },
  },
  { spelling: '/', isFor: isDividedSlowly, reduced: quotient },
  {
    spelling: 'sqrt_',
    isFor: isDividedSlowly,
    reduced: ({ type, args }) => ({ kind: 'target', op: 'rootByProducts', args, numbers: [], type }),
  },
];

/** What the op table spells an op by, where it is no function of others. */
function spellingOf({ op, args: [x, y] }: Apply): string | undefined {
  const { c, rule, decompose } = pointwise[op];
  const operand = rule === 'select' ? y : x;
  if (c === undefined || operand === undefined || decompose?.(operand.type.dtype) !== undefined) return undefined;
  return c.kind === 'infix' ? c.operator : c.kind === 'call' ? c.name : undefined;
}

export const strengthReductions: MachinePass = {
  name: 'strength reductions',
  doc: 'products by 2, quotients by constants and roots become ops that the machine has in less time, with the same bits',
  on: (machine) => ({
    value: (value) => {
      if (value.kind !== 'apply') return value;
      const possible = reductions.filter(({ isFor }) => isFor(value.type, machine));
      if (possible.length === 0) return value;
      const spelling = spellingOf(value);
      return possible.find((reduction) => reduction.spelling === spelling)?.reduced(value) ?? value;
    },
  }),
};
