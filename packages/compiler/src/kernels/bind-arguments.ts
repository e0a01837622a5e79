// The arguments of a launch: checked against the schema, as tensors' memory, scalars of their dtype and launch constants.
import { isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { isConstexpr, isPointer } from '@tsinductor/dsl';
import type { ArgumentFacts, Schema, SchemaEntry } from '@tsinductor/dsl';
import { castValue } from '@tsinductor/ops';
import type { Value } from '@tsinductor/ops';
import { isTensor } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import type { Device } from '@tsinductor/tensor/internal';
import { badArgument, unknownArgument } from './kernel-errors.ts';

interface BoundBuffer {
  readonly kind: 'buffer';
  readonly name: string;
  readonly dtype: DType;
  readonly tensor: Tensor;
}

/** One argument, in the order of the schema without constants. */
export type BoundArgument =
  BoundBuffer | { readonly kind: 'scalar'; readonly name: string; readonly dtype: DType; readonly value: Value };

export interface BoundLaunch {
  readonly args: readonly BoundArgument[];
  readonly constants: Readonly<Record<string, number>>;
}

const alignment = 16;

/** What code may be made for; `address` of a buffer where that is what code gets. */
export function factsOf(argument: BoundArgument, address?: number): ArgumentFacts {
  const { dtype } = argument;
  if (argument.kind === 'buffer') {
    const isAligned = address !== undefined && address % alignment === 0;
    return { dtype, divisor: isAligned ? alignment : 1 };
  }
  const value = Number(argument.value);
  const isInteger = dtype === 'i32' || dtype === 'i64';
  return { dtype, divisor: isInteger && value % alignment === 0 ? alignment : 1, isOne: isInteger && value === 1 };
}

/** Throws UserError KERNEL_LAUNCH_ARGUMENT naming kernel and argument. */
export function bindLaunch(kernel: string, schema: Schema, given: Readonly<Record<string, unknown>>): BoundLaunch {
  for (const name of Object.keys(given)) {
    if (!Object.hasOwn(schema, name)) throw unknownArgument(kernel, name, Object.keys(schema));
  }
  const args: BoundArgument[] = [];
  const constants: [name: string, value: number][] = [];
  for (const [name, entry] of Object.entries(schema)) {
    const value = Object.hasOwn(given, name) ? given[name] : undefined;
    if (isConstexpr(entry)) constants.push([name, constantOf(kernel, name, value)]);
    else args.push(bindArgument(kernel, { name, entry }, value));
  }
  return { args, constants: Object.fromEntries(constants) };
}

function constantOf(kernel: string, name: string, value: unknown): number {
  if (typeof value === 'number') return value;
  if (typeof value === 'boolean') return Number(value);
  throw badArgument(kernel, name, { value, expected: 'a number: it is a launch constant' });
}

/** Throws UserError KERNEL_LAUNCH_ARGUMENT for a tensor that is not on the CPU; `where` says what runs there only. */
export function requireHost(kernel: string, { name, tensor }: BoundBuffer, where: string): void {
  const { device } = tensor;
  if (device !== 'cpu')
    throw badArgument(kernel, name, {
      found: `a tensor on ${device}, and ${where}`,
      expected: 'a tensor on the CPU: x.cpu()',
    });
}

/** The device of a launch, which is that of all its tensors. Throws UserError KERNEL_LAUNCH_ARGUMENT naming two that differ. */
export function deviceOf(kernel: string, { args }: BoundLaunch): Device {
  const [first, ...others] = args.filter((argument) => argument.kind === 'buffer');
  if (first === undefined) return 'cpu';
  const { device } = first.tensor;
  const other = others.find(({ tensor }) => tensor.device !== device);
  if (other === undefined) return device;
  throw badArgument(kernel, other.name, {
    found: `a tensor on ${other.tensor.device}, and ${first.name} one on ${device}`,
    expected: `tensors on one device: ${other.name}.to('${device}')`,
  });
}

function bindArgument(
  kernel: string,
  { name, entry }: { name: string; entry: SchemaEntry },
  value: unknown,
): BoundArgument {
  if (typeof entry !== 'string') {
    const dtype = isPointer(entry) ? entry.dtype : undefined;
    if (!isTensor(value))
      throw badArgument(kernel, name, { value, expected: `a tensor${dtype === undefined ? '' : ` of ${dtype}`}` });
    if (dtype !== undefined && value.dtype !== dtype)
      throw badArgument(kernel, name, {
        found: `a tensor of ${value.dtype}`,
        expected: `a tensor of ${dtype}: x.to(${dtype})`,
      });
    return { kind: 'buffer', name, dtype: value.dtype, tensor: value };
  }
  if (typeof value !== 'number' && typeof value !== 'bigint' && typeof value !== 'boolean')
    throw badArgument(kernel, name, { value, expected: `a number: it is a scalar of ${entry}` });
  return { kind: 'scalar', name, dtype: entry, value: scalarOf(kernel, name, { value, dtype: entry }) };
}

/** A number as the dtype has it; one that it does not have is an error, not another number. */
function scalarOf(
  kernel: string,
  name: string,
  { value, dtype }: { value: number | bigint | boolean; dtype: DType },
): Value {
  const plain = typeof value === 'boolean' ? Number(value) : value;
  if (isFloat(dtype)) return castValue(Number(plain), 'f64', dtype);
  const isWhole = typeof plain === 'bigint' || Number.isInteger(plain);
  const wide = isWhole ? BigInt(plain) : undefined;
  const cast = wide === undefined || BigInt.asIntN(64, wide) !== wide ? undefined : castValue(wide, 'i64', dtype);
  if (cast === undefined || BigInt(cast) !== wide)
    throw badArgument(kernel, name, { value, expected: `a whole number that ${dtype} has` });
  return cast;
}
