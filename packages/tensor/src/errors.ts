// Every error of this package, by name. Messages say what and where, hints what to do; codes are stable.
import { InternalError, UserError } from '@tsinductor/base';
import type { SourceLocation } from '@tsinductor/base';

/** A short description of any value, safe to print whatever the value is. */
export function describe(value: unknown): string {
  if (typeof value === 'string') return `the string ${JSON.stringify(value.slice(0, 40))}`;
  if (typeof value === 'bigint') return `${String(value).slice(0, 40)}n`;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value === 'object' && value !== null) return describeObject(value);
  return value === null ? 'null' : `a value of type ${typeof value}`;
}

function describeObject(value: object): string {
  if (Array.isArray(value)) return 'an array';
  const name = (Object.getPrototypeOf(value) as { constructor?: { name?: unknown } } | null)?.constructor?.name;
  return typeof name === 'string' && name !== 'Object' ? `a ${name}` : 'an object';
}

export const notATensor = (where: string, value: unknown): UserError =>
  new UserError('NOT_A_TENSOR', `${where}: expected a tensor, got ${describe(value)}`, {
    hint: 'make one with tensor()',
  });

export const disposedTensor = (shape: readonly number[], dtype: string): UserError =>
  new UserError('TENSOR_DISPOSED', `this tensor (${dtype}[${shape.join(', ')}]) was disposed`, {
    hint: 'use it before dispose() or the end of its using block or scope, or clone() what must live longer',
  });

/** What was given as a shape is none. */
export const invalidShape = (shape: unknown, why: string): UserError =>
  new UserError('INVALID_SHAPE', `shape ${printSizes(shape)}: ${why}`, {
    hint: 'sizes are whole numbers from 0, and their product is below 2^53',
  });

function printSizes(shape: unknown): string {
  if (!Array.isArray(shape)) return describe(shape);
  const shown = shape.slice(0, 8).map((size: unknown) => describe(size));
  return `[${shown.join(', ')}${shape.length > 8 ? ', ...' : ''}]`;
}

export const invalidDevice = (name: unknown): UserError =>
  new UserError('DEVICE_NAME', `${describe(name)} is not a device`, {
    hint: "use 'cpu', 'cuda' or 'cuda:1'; tsinductor doctor says which there are",
  });

/** Nobody has said how devices are opened. */
export const noDevices = (device: string): UserError =>
  new UserError('DEVICE_UNAVAILABLE', `there is nothing here that opens ${device}`, {
    hint: "import from 'tsinductor', whose compiler opens devices",
  });

export const deviceMismatch = (operation: string, first: string, second: string): UserError =>
  new UserError('DEVICE_MISMATCH', `${operation}: its tensors are on different devices: ${first}, and ${second}`, {
    hint: 'send one of them to the other’s device with to(), as in x.to(y.device)',
  });

export const graphDevices = (devices: readonly string[]): UserError =>
  new UserError(
    'GRAPH_DEVICES',
    `a compiled function works on ${devices.join(' and ')}, and a graph runs on one device`,
    {
      hint: 'compile what runs on each device as a function of its own, and send tensors between them outside',
    },
  );

/** The elements of a device's memory were asked for as if they lay in this process's. */
export const deviceMemory = (device: string): InternalError =>
  new InternalError('DEVICE_MEMORY', `memory of ${device} was to be written to as if it were the host's`, {
    hint: 'this is a bug: please report it',
  });

export const invalidDType = (dtype: unknown): UserError =>
  new UserError('INVALID_DTYPE', `${describe(dtype)} is not a dtype`, {
    hint: 'use one of f64, f32, f16, bf16, i64, i32, i16, i8, u8, bool',
  });

export const unknownOption = (where: string, name: string, known: readonly string[]): UserError =>
  new UserError('OPTION_UNKNOWN', `${where} has no option ${JSON.stringify(name.slice(0, 40))}`, {
    hint: `use one of ${known.join(', ')}`,
  });

/** An argument has a value that the operator cannot take. */
export const badArgument = (where: string, what: string, hint: string): UserError =>
  new UserError('ARGUMENT_VALUE', `${where}: ${what}`, { hint });

export const elementCount = (shape: readonly number[], wanted: number, found: number): UserError =>
  new UserError('ELEMENT_COUNT', `shape [${shape.join(', ')}] has ${wanted} elements, the data has ${found}`, {
    hint: 'give a shape whose sizes multiply to the number of elements',
  });

export const cannotBroadcast = (a: readonly number[], b: readonly number[]): UserError =>
  new UserError('SHAPE_MISMATCH', `cannot broadcast [${a.join(', ')}] with [${b.join(', ')}]`, {
    hint: 'sizes aligned at the right must be equal or 1',
  });

export const raggedArray = (path: string, wanted: string, found: string): UserError =>
  new UserError('RAGGED_ARRAY', `nested arrays differ: ${path} is ${found}, its neighbours are ${wanted}`, {
    hint: 'give every array of a level the same length',
  });

export const sparseArray = (path: string): UserError =>
  new UserError('SPARSE_ARRAY', `${path} is a hole in the array`, { hint: 'fill the array, as with array.fill(0)' });

export const deepArray = (): UserError =>
  new UserError('ARRAY_DEPTH', 'the array is nested more than 64 levels deep, or contains itself', {
    hint: 'tensors have at most 64 dims',
  });

export const notANumber = (path: string, value: unknown): UserError =>
  new UserError('ELEMENT_TYPE', `${path} is ${describe(value)}, not a number, bigint or boolean`, {
    hint: 'give numbers, bigints, booleans, typed arrays, or nested arrays of them',
  });

export const elementRange = (path: string, value: unknown, dtype: string): UserError =>
  new UserError('ELEMENT_RANGE', `${path} is ${describe(value)}, which ${dtype} cannot hold`, {
    hint: 'use a wider dtype',
  });

export const maskShape = (mask: readonly number[], shape: readonly number[], first: number): UserError =>
  new UserError(
    'SHAPE_MISMATCH',
    `a mask [${mask.join(', ')}] stands for dims of a tensor [${shape.join(', ')}], from dim ${first} on`,
    { hint: 'give a mask with the sizes of these dims' },
  );

export const foreignArray = (name: string, remedy: string): UserError =>
  new UserError('ARRAY_TYPE', `${name} has no matching dtype`, { hint: remedy });

export const detachedBuffer = (): UserError =>
  new UserError('BUFFER_DETACHED', 'the memory of this array was transferred elsewhere', {
    hint: 'make the tensor before structuredClone or postMessage take the buffer, or copy it with slice()',
  });

export const unalignedBuffer = (what: string, bytes: number): UserError =>
  new UserError('BUFFER_ALIGNMENT', `${what} is not a multiple of ${bytes} bytes`, {
    hint: 'copy the bytes to a fresh buffer first',
  });

export const cannotShare = (why: string): UserError =>
  new UserError('CANNOT_SHARE', `tensor(..., { share: true }): ${why}`, { hint: 'leave share out to copy the data' });

export const outOfMemory = (bytes: number, cause: unknown): UserError =>
  new UserError('OUT_OF_MEMORY', `no memory for ${bytes} bytes`, {
    cause,
    hint: 'use a smaller shape or dispose tensors',
  });

export const notOneElement = (what: string, shape: readonly number[]): UserError =>
  new UserError('NOT_A_SCALAR', `${what} of a tensor with shape [${shape.join(', ')}]`, {
    hint: 'reduce or index it to one element first, or use toArray()',
  });

export const ambiguousPrimitive = (): UserError =>
  new UserError(
    'TENSOR_AS_PRIMITIVE',
    'a tensor was used as a JavaScript number or in a comparison: its truth value is ambiguous',
    {
      hint: 'use its methods (x.add(y), x.lt(y)), read one element with item(), or ask any() or all() and item()',
    },
  );

export const writeOverlap = (operation: string): UserError =>
  new UserError('WRITE_OVERLAP', `${operation}: several elements of the tensor are the same memory`, {
    hint: 'clone() it first',
  });

export const writeShape = (operation: string, target: readonly number[], value: readonly number[]): UserError =>
  new UserError(
    'SHAPE_MISMATCH',
    `${operation}: a value of shape [${value.join(', ')}] does not fit the tensor's [${target.join(', ')}]`,
    { hint: 'an in-place operation keeps the shape of its tensor' },
  );

export const writeDType = (operation: string, target: string, value: string): UserError =>
  new UserError('DTYPE_MISMATCH', `${operation}: a result of ${value} cannot be stored in ${target}`, {
    hint: 'cast the operand, or use the form that returns a new tensor',
  });

export const dataDependent = (operation: string, location: SourceLocation | undefined): UserError =>
  new UserError('DATA_DEPENDENT', `${operation} needs the values of a tensor, which are not known while tracing`, {
    location,
    hint: 'compute with tensors (where, gather), or move the read out of the compiled function',
  });

/** A call that cannot be part of a graph, for a reason that is a clause of its own. */
export const leavesGraph = (reason: string, location: SourceLocation | undefined): UserError =>
  new UserError('GRAPH_LEFT', reason, { location, hint: 'call it before or after the compiled function' });

export const escapedTensor = (): UserError =>
  new UserError('TRACED_ESCAPED', 'this tensor was made while a function was traced, and has no value of its own', {
    hint: 'return it from the compiled function instead of keeping it in a variable',
  });

export const leftBehind = (): UserError =>
  new UserError(
    'TRACED_ESCAPED',
    'this tensor was left behind by a compiled function before its value was computed, and what it is made of has changed',
    { hint: 'return it from the compiled function, or keep it on an argument or on `this`' },
  );

export const nestedTrace = (): UserError =>
  new UserError('TRACE_NESTED', 'a trace was started while another one is running', {
    hint: 'call the function directly: it becomes part of the outer trace',
  });

export const aliasedMutation = (operation: string): UserError =>
  new UserError('ALIASED_MUTATION', `${operation} writes to memory that two inputs of the traced function share`, {
    hint: 'pass the tensor once and take views of it inside the function, or clone() one of them',
  });

export const repeatedMutation = (operation: string): UserError =>
  new UserError(
    'REPEATED_MUTATION',
    `${operation} writes to memory that an expanded or overlapping tensor shows elsewhere too`,
    {
      hint: 'clone() that tensor first, or write to all of it with fill_',
    },
  );

export const unsupportedOperator = (name: string): UserError =>
  new UserError('UNKNOWN_OPERATOR', `there is no operator ${JSON.stringify(name.slice(0, 60))}`, {
    hint: 'see the methods of Tensor for what there is',
  });

/** A file is not what its format asks for. */
export const badFile = (format: string, what: string): UserError =>
  new UserError('FILE_FORMAT', `${format}: ${what}`, { hint: 'the file is damaged or was made by something else' });

/** A file holds something that its format allows and tensors here cannot be. */
export const unsupportedFile = (format: string, what: string, hint: string): UserError =>
  new UserError('FILE_UNSUPPORTED', `${format}: ${what}`, { hint });

export const fileAccess = (path: string, cause: unknown): UserError => {
  // Node ends with what it called and with which path, as `, open '/a/b'`.
  const reason = (cause as Error).message.replace(/, \w+( '.*')?$/s, '');
  return new UserError('FILE_ACCESS', `cannot access ${JSON.stringify(path)}: ${reason}`, {
    cause,
    hint: 'check the path and its permissions',
  });
};

/** A trace breaks a law of traces: the message says which. */
export const brokenTrace = (what: string): InternalError =>
  new InternalError('TRACE_INVALID', what, { hint: 'this is a bug: please report it' });
