// The laws of the Kernel IR, checked: names before uses, equal lanes, dtypes of memory, who may be written, and where a
// parallel loop may stand. Throws an InternalError that names the kernel, the statement and the law.
import { dtypeInfo, InternalError, Lines } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { freeAxes, freeIndirects, freeSizes } from '../arithmetic/query.ts';
import type { Index } from '../index-expr.ts';
import type {
  Access,
  HardwareStmt,
  Kernel,
  MemoryPlace,
  SortStmt,
  Stmt,
  TileCorner,
  Value,
  ValueType,
} from './kernel.ts';
import { printKernelValue, printStatement, printValueType } from './print-kernel-ir.ts';
import { statementBlocks, statementIndexes, statementValues, valueIndexes, valueOperands } from './traverse-kernel.ts';
import { brokenLaw, sameType } from './value-laws.ts';

interface Memory {
  readonly dtype: DType;
  readonly writable: boolean;
}

interface Scope {
  readonly kernel: Kernel;
  /** Types of what a name stands for: loops and chunks are i64. */
  readonly names: Map<string, ValueType>;
  readonly variables: Set<string>;
  readonly memory: Map<string, Memory>;
  /** What the statements so far have defined and is still there, in order. */
  readonly defined: string[];
  /** Whether statements belong to a unit of work, which may fail. */
  readonly hasUnits: boolean;
}

const index64: ValueType = { dtype: 'i64', lanes: 1 };

export function verifyKernel(kernel: Kernel): void {
  const memory = new Map<string, Memory>();
  for (const buffer of kernel.buffers) {
    if (memory.has(buffer.name)) fail(kernel, undefined, `two buffers are called ${buffer.name}`);
    memory.set(buffer.name, { dtype: buffer.dtype, writable: buffer.role !== 'read' });
  }
  const hasUnits = kernel.launch !== undefined;
  const top: Scope = { kernel, names: new Map(), variables: new Set(), memory, defined: [], hasUnits };
  verifyLaunch(kernel, top);
  for (const statement of kernel.body) {
    if (statement.kind !== 'parallel') verifyStatement(statement, top);
    else {
      verifyIndexes(statement, top);
      const { ordered } = statement;
      const turn = ordered === undefined ? undefined : memory.get(ordered.turn);
      if (ordered !== undefined && !(turn?.dtype === 'i64' && turn.writable))
        fail(kernel, statement, `the turn ${ordered.turn} is no buffer of i64 that is written`);
      for (const block of statementBlocks(statement)) {
        const own = { names: new Map(), variables: new Set<string>(), memory: new Map(memory), defined: [] };
        const inside: Scope = { ...top, ...own, hasUnits: true };
        define(statement, statement.begin, { scope: inside, type: index64 });
        define(statement, statement.end, { scope: inside, type: index64 });
        for (const inner of block) verifyStatement(inner, inside);
      }
    }
  }
}

function verifyLaunch(kernel: Kernel, scope: Scope): void {
  const { launch } = kernel;
  if (launch === undefined) return;
  const { threads, blocks, names } = launch;
  if (threads % warpThreads !== 0 || threads < warpThreads || threads > 1024)
    fail(kernel, undefined, `${String(threads)} threads are no whole warps, or too many`);
  if (freeAxes(blocks).size > 0 || [...freeSizes(blocks)].some((size) => !kernel.sizes.includes(size)))
    fail(kernel, undefined, 'the number of blocks depends on more than sizes');
  for (const name of Object.values(names)) scope.names.set(name, index64);
}

/** Threads that run in step. */
export const warpThreads: number = 32;

function fail(kernel: Kernel, statement: Stmt | undefined, law: string): never {
  const lines = new Lines();
  if (statement !== undefined) printStatement(statement, lines);
  const text = lines.toString().split('\n').slice(0, 3).join('\n');
  throw new InternalError('KERNEL_INVALID', `kernel ${kernel.name}: ${law}${text === '' ? '' : `\n${text}`}`, {
    hint: 'this is a bug: please report it',
  });
}

function define(statement: Stmt, name: string, { scope, type }: { scope: Scope; type: ValueType }): void {
  if (scope.names.has(name) || scope.memory.has(name)) fail(scope.kernel, statement, `${name} is defined twice`);
  scope.names.set(name, type);
  scope.defined.push(name);
}

/** Forgets what was defined after the first `count` names: their block ends. No name hides another, so none comes back. */
function leave({ defined, names, variables, memory }: Scope, count: number): void {
  for (const name of defined.splice(count)) for (const table of [names, variables, memory]) table.delete(name);
}

function verifyStatement(statement: Stmt, scope: Scope): void {
  const { kernel } = scope;
  verifyIndexes(statement, scope);
  for (const value of statementValues(statement)) verifyValue(value, statement, scope);
  if (statement.kind === 'parallel') fail(kernel, statement, 'a parallel loop stands inside another statement');
  switch (statement.kind) {
    case 'let':
    case 'var':
      define(statement, statement.name, { scope, type: statement.value.type });
      if (statement.kind === 'var') scope.variables.add(statement.name);
      break;
    case 'set':
      verifySet(statement, scope);
      break;
    case 'store':
      verifyStore(statement, scope);
      break;
    case 'for':
    case 'while':
    case 'if':
      verifyBlocks(statement, scope);
      break;
    case 'atomic':
      verifyAtomic(statement, scope);
      break;
    case 'fetch':
      verifyFetch(statement, scope);
      break;
    case 'barrier':
    case 'shuffle':
      verifyMeeting(statement, scope);
      break;
    case 'copyAsync':
    case 'copies':
    case 'matrixLoad':
    case 'matrixMultiply':
      verifyHardware(statement, scope);
      break;
    case 'scratch':
      verifyScratch(statement, scope);
      break;
    case 'check':
      verifyCheck(statement, scope);
      break;
    case 'transpose':
    case 'sort':
      verifyRows(statement, scope);
      break;
    case 'prefetch':
    case 'print':
    case 'fail':
    case 'bounds':
      verifyTold(statement, scope);
      break;
    case 'fence':
    case 'comment':
      break;
  }
}

function verifyTold(statement: Stmt & { readonly kind: 'prefetch' | 'print' | 'fail' | 'bounds' }, scope: Scope): void {
  const { kernel, hasUnits } = scope;
  if (statement.kind === 'prefetch') {
    if (!scope.memory.has(statement.buffer)) fail(kernel, statement, `there is no memory ${statement.buffer}`);
    return;
  }
  if (statement.kind !== 'print' && !hasUnits) fail(kernel, statement, 'there are no units that could fail');
  if (statement.kind === 'bounds') {
    const { mask, access } = statement;
    if (mask !== undefined) verifyMask(mask, statement, { scope, lanes: mask.type.lanes });
    if (access.count !== undefined) fail(kernel, statement, 'what is checked has two counts');
    return;
  }
  if (statementValues(statement).some(({ type }) => type.lanes !== 1))
    fail(kernel, statement, 'a printed value has one lane');
}

function verifyCheck(statement: Stmt & { readonly kind: 'check' }, scope: Scope): void {
  const { type } = statement.value;
  if (type.dtype !== 'i64') fail(scope.kernel, statement, 'a checked index is i64');
  define(statement, statement.name, { scope, type });
}

function verifyAtomic(statement: Stmt & { readonly kind: 'atomic' }, scope: Scope): void {
  const { kernel } = scope;
  const memory = verifyAccess(statement.access, statement, { scope, type: statement.value.type });
  if (!memory.writable) fail(kernel, statement, `${statement.access.buffer} is only read`);
  if (statement.value.type.lanes !== 1) fail(kernel, statement, 'an atomic update has one lane');
}

function verifyMeeting(statement: Stmt & { readonly kind: 'barrier' | 'shuffle' }, scope: Scope): void {
  const { kernel } = scope;
  if (kernel.launch === undefined) fail(kernel, statement, `a ${statement.kind} stands in a kernel without a launch`);
  if (statement.kind === 'barrier') return;
  if (statement.value.type.lanes !== 1) fail(kernel, statement, 'a shuffled value has one lane');
  define(statement, statement.name, { scope, type: statement.value.type });
}

function verifyHardware(statement: HardwareStmt, scope: Scope): void {
  const { kernel } = scope;
  if (kernel.launch === undefined) fail(kernel, statement, `a ${statement.kind} stands in a kernel without a launch`);
  if (statement.kind === 'copyAsync') verifyCopy(statement, scope);
  else if (statement.kind === 'matrixLoad') {
    verifyPlace(statement.from, statement, { scope, dtype: statement.dtype });
    if (dtypeInfo[statement.dtype].bytes !== 2) fail(kernel, statement, 'matrices are loaded by elements of two bytes');
    if (statement.names.length !== 4) fail(kernel, statement, 'four matrices are loaded');
    for (const name of statement.names) define(statement, name, { scope, type: { dtype: 'i32', lanes: 1 } });
  } else if (statement.kind === 'matrixMultiply') {
    verifyPlace(statement.sum, statement, { scope, dtype: 'f32' });
    const words = [...statement.left, ...statement.right];
    if (statement.left.length !== 4 || statement.right.length !== 2 || words.some(({ type }) => type.dtype !== 'i32'))
      fail(kernel, statement, 'fragments are four words and two words');
  }
}

function verifyPlace(
  { buffer }: MemoryPlace,
  statement: Stmt,
  { scope, dtype }: { readonly scope: Scope; readonly dtype: DType },
): Memory {
  const memory = scope.memory.get(buffer);
  if (memory?.dtype !== dtype) fail(scope.kernel, statement, `there is no memory ${buffer} of ${dtype}`);
  return memory;
}

function verifyCopy(statement: Stmt & { readonly kind: 'copyAsync' }, scope: Scope): void {
  const { dtype, lanes, from, to, mask } = statement;
  verifyPlace(from, statement, { scope, dtype });
  if (!verifyPlace(to, statement, { scope, dtype }).writable)
    fail(scope.kernel, statement, `${to.buffer} is only read`);
  if (![4, 8, 16].includes(lanes * dtypeInfo[dtype].bytes))
    fail(scope.kernel, statement, 'a copy moves 4, 8 or 16 bytes');
  if (mask !== undefined) verifyMask(mask, statement, { scope, lanes: 1 });
}

function verifyScratch(
  statement: Stmt & { readonly kind: 'scratch' },
  { kernel, names, memory, defined }: Scope,
): void {
  const { name, shared, size, dtype } = statement;
  if (names.has(name) || memory.has(name)) fail(kernel, statement, `${name} is defined twice`);
  memory.set(name, { dtype, writable: true });
  defined.push(name);
  if (shared === undefined) return;
  if (kernel.launch === undefined) fail(kernel, statement, 'shared memory without a launch');
  if (shared % 16 !== 0) fail(kernel, statement, 'shared memory is not aligned to 16 bytes');
  if (shared + size * dtypeInfo[dtype].bytes > kernel.launch.sharedBytes)
    fail(kernel, statement, `the launch has ${String(kernel.launch.sharedBytes)} bytes of shared memory`);
}

function verifySet(statement: Stmt & { readonly kind: 'set' }, { kernel, names, variables }: Scope): void {
  const type = names.get(statement.name);
  if (type === undefined || !variables.has(statement.name))
    fail(kernel, statement, `${statement.name} is not a variable`);
  if (!sameType(type, statement.value.type)) fail(kernel, statement, `${statement.name} is ${printValueType(type)}`);
}

function verifyBlocks(statement: Stmt & { readonly kind: 'for' | 'if' | 'while' }, scope: Scope): void {
  if (statement.kind === 'for' && typeof statement.step === 'number' && statement.step < 1)
    fail(scope.kernel, statement, 'a loop must advance');
  for (const block of statementBlocks(statement)) {
    const outside = scope.defined.length;
    if (statement.kind === 'for') define(statement, statement.name, { scope, type: index64 });
    for (const child of block) verifyStatement(child, scope);
    leave(scope, outside);
  }
}

function verifyIndexes(statement: Stmt, scope: Scope): void {
  for (const index of statementIndexes(statement)) verifyIndex(index, statement, { scope, lanes: 1 });
}

function verifyIndex(index: Index, statement: Stmt, { scope, lanes }: { scope: Scope; lanes: number }): void {
  if (index.kind === 'int') return;
  if (freeIndirects(index).size > 0) fail(scope.kernel, statement, 'an index still refers to a node of a body');
  for (const size of freeSizes(index)) {
    if (!scope.kernel.sizes.includes(size)) fail(scope.kernel, statement, `the kernel does not take the size ${size}`);
  }
  for (const name of freeAxes(index)) {
    const type = scope.names.get(name);
    if (type === undefined) fail(scope.kernel, statement, `${name} is used before it is defined`);
    if (type.dtype !== 'i64' && type.dtype !== 'i32') fail(scope.kernel, statement, `${name} is not an index`);
    if (type.lanes !== 1 && type.lanes !== lanes)
      fail(scope.kernel, statement, `${name} has ${String(type.lanes)} lanes`);
  }
}

function verifyFetch(statement: Stmt & { readonly kind: 'fetch' }, scope: Scope): void {
  const { value, expected, access, op } = statement;
  const memory = verifyAccess(access, statement, { scope, type: value.type });
  if (!memory.writable) fail(scope.kernel, statement, `${access.buffer} is only read`);
  if (value.type.lanes !== 1) fail(scope.kernel, statement, 'a fetch has one lane');
  if ((op === 'compareExchange') !== (expected !== undefined))
    fail(scope.kernel, statement, 'a compareExchange, and nothing else, expects a value');
  if (expected !== undefined && !sameType(expected.type, value.type))
    fail(scope.kernel, statement, 'the expected value has another type');
  define(statement, statement.name, { scope, type: value.type });
}

function verifyStore(statement: Stmt & { readonly kind: 'store' }, scope: Scope): void {
  const { access, value, mask, hint } = statement;
  const memory = verifyAccess(access, statement, { scope, type: value.type });
  if (!memory.writable) fail(scope.kernel, statement, `${access.buffer} is only read`);
  if (mask !== undefined) verifyMask(mask, statement, { scope, lanes: value.type.lanes });
  const contiguous = access.step.kind === 'int' && access.step.value === 1 && access.offsets === undefined;
  if (hint === 'non-temporal' && (!contiguous || access.count !== undefined || mask !== undefined))
    fail(scope.kernel, statement, 'only whole, contiguous vectors are stored so');
}

interface Accessing {
  readonly scope: Scope;
  readonly type: ValueType;
}

function verifyAccess(access: Access, statement: Stmt, { scope, type }: Accessing): Memory {
  const memory = scope.memory.get(access.buffer);
  if (memory === undefined) fail(scope.kernel, statement, `there is no memory ${access.buffer}`);
  if (memory.dtype !== type.dtype)
    fail(scope.kernel, statement, `${access.buffer} holds ${memory.dtype}, not ${type.dtype}`);
  if (access.offsets !== undefined && access.offsets.type.lanes !== type.lanes)
    fail(scope.kernel, statement, 'offsets have other lanes than what they reach');
  return memory;
}

function verifyMask(mask: Value, statement: Stmt, { scope, lanes }: { scope: Scope; lanes: number }): void {
  if (mask.type.dtype !== 'bool' || mask.type.lanes !== lanes)
    fail(scope.kernel, statement, `a mask of ${String(lanes)} lanes is ${printValueType(mask.type)}`);
}

function verifyValue(value: Value, statement: Stmt, scope: Scope): void {
  const { kernel } = scope;
  const bad = (law: string): never => fail(kernel, statement, `${law}, in ${printKernelValue(value)}`);
  for (const operand of valueOperands(value)) verifyValue(operand, statement, scope);
  for (const index of valueIndexes(value))
    verifyIndex(index, statement, { scope, lanes: value.kind === 'index' ? value.type.lanes : 1 });
  if (!Number.isInteger(Math.log2(value.type.lanes))) bad('lanes are not a power of two');
  if (value.kind === 'load') verifyLoad(value, statement, scope);
  if (value.kind === 'name') {
    const type = scope.names.get(value.name);
    if (type === undefined) bad(`${value.name} is used before it is defined`);
    else if (!sameType(type, value.type))
      bad(`${value.name} is ${printValueType(type)}, not ${printValueType(value.type)}`);
  }
  const broken = brokenLaw(value);
  if (broken !== undefined) bad(broken);
}

function verifyLoad(value: Value & { readonly kind: 'load' }, statement: Stmt, scope: Scope): void {
  verifyAccess(value.access, statement, { scope, type: value.type });
  if (value.mask !== undefined) verifyMask(value.mask, statement, { scope, lanes: value.type.lanes });
  if (value.other !== undefined && !sameType(value.other.type, value.type))
    fail(scope.kernel, statement, 'what stands for masked lanes has another type');
}

function verifyRows(statement: Stmt & { readonly kind: 'transpose' | 'sort' }, scope: Scope): void {
  if (statement.kind === 'sort') verifySort(statement, scope);
  else verifyTranspose(statement, scope);
}

function verifyTranspose(statement: Stmt & { readonly kind: 'transpose' }, scope: Scope): void {
  const side = ({ buffer }: TileCorner): Memory => {
    const memory = scope.memory.get(buffer);
    if (memory === undefined) fail(scope.kernel, statement, `there is no memory ${buffer}`);
    if (memory.dtype !== statement.dtype) fail(scope.kernel, statement, `${buffer} holds ${memory.dtype}`);
    return memory;
  };
  side(statement.from);
  if (!side(statement.to).writable) fail(scope.kernel, statement, `${statement.to.buffer} is only read`);
}

function verifySort(statement: SortStmt, scope: Scope): void {
  const { kernel } = scope;
  const { keys, places, values, indices, scratch, dtype, threads } = statement;
  verifyPlace(keys, statement, { scope, dtype });
  if (places !== undefined) verifyPlace(places, statement, { scope, dtype: 'i64' });
  const written = [
    ...(values === undefined ? [] : [verifyPlace(values, statement, { scope, dtype })]),
    ...(indices === undefined ? [] : [verifyPlace(indices, statement, { scope, dtype: 'i64' })]),
    verifyPlace(scratch, statement, { scope, dtype: 'i64' }),
  ];
  if (written.some(({ writable }) => !writable)) fail(kernel, statement, 'a sort writes what is only read');
  if (threads === 'all' && scope.hasUnits) fail(kernel, statement, 'threads that run a unit cannot share a sort');
}
