// A specialised program as native code, with or without checks of its accesses: built, loaded and bound to a table of addresses and
// sizes. In: a verified program, a machine. Out: what runs a launch, and throws for what the code has noted of it.
import { at, dtypeInfo, stableHash } from '@tsinductor/base';
import type { UserError } from '@tsinductor/base';
import { generateBlock, printedEntry, printLogWords } from '@tsinductor/codegen-cpp';
import type { CppKernel } from '@tsinductor/codegen-cpp';
import { accessesOf, assertionFailed, assertionsOf, gatherOutOfRange, outOfBounds, tilesOf } from '@tsinductor/ir';
import type { BlockProgram } from '@tsinductor/ir';
import { placeOf } from '@tsinductor/tensor/internal';
import type { NativeMachine } from '../build/machine.ts';
import type { BoundArgument } from './bind-arguments.ts';
import type { PreparedKernel, PreparedLaunch } from './launch.ts';
import type { PrepareOptions } from './prepare-kernel.ts';
import { hasNews, tellPrinted } from './printed-lines.ts';
import type { UnitFailure } from './printed-lines.ts';
import { ScalarWords } from './scalar-words.ts';

export type NativeKernel = Pick<PreparedKernel, 'runsOn' | 'run'> & { readonly compiled: CppKernel };

interface Building {
  readonly machine: NativeMachine;
  readonly options: PrepareOptions;
  readonly checks: boolean;
}

const gridSizes = 3;

export function nativeKernel(program: BlockProgram, { machine, options, checks }: Building): NativeKernel {
  const { isa, toolchain, bridge, threads, family, caches } = machine;
  const { mayAlias, large } = options;
  const code = generateBlock(program, { isa, mayAlias, large, threads, family, caches, checks });
  const key = stableHash({
    kind: 'kernel',
    units: code.units,
    compiler: toolchain.fingerprint,
    cpu: machine.isaReport.cpu,
  });
  const { builder } = options;
  const library = builder.libraryNow({
    key,
    name: program.name,
    units: code.units,
    plan: { entry: code.entry },
    toolchain,
    fields: {
      kind: 'kernel',
      cpu: machine.isaReport.cpu,
      source: stableHash(code.units).slice(0, 16),
      checks: String(checks),
    },
  });
  const given = program.params.filter(({ kind }) => kind === 'buffer').length;
  const log = code.hasLog ? new BigInt64Array(printLogWords) : undefined;
  const halves = log === undefined ? new Int32Array(0) : new Int32Array(log.buffer);
  const buffers = given + (log === undefined ? 1 : 2);
  const sizes = gridSizes + (checks ? given : 0);
  const table = new Float64Array(buffers + sizes);
  const words = new ScalarWords(program.params.length);
  table[given] = bridge.addressOf(words.array);
  if (log !== undefined) table[given + 1] = bridge.addressOf(log);
  const call = bridge.bind(bridge.load(library, code.entry), table, { buffers, sizes });
  const checked = checks ? ', accesses checked' : '';
  return {
    runsOn: `native code for ${isa}, ${String(threads)} ${threads === 1 ? 'thread' : 'threads'}${checked}`,
    compiled: code,
    run: (launch) => {
      const { grid, args, addresses, print } = launch;
      table.set(addresses);
      words.set(args);
      table.set(grid, buffers);
      if (checks) setCounts(table, buffers + gridSizes, args);
      bridge.setThreads(threads);
      call();
      if (log === undefined || !hasNews(halves)) return;
      const failure = tellPrinted({ bridge, entry: bridge.load(library, printedEntry), log, print });
      if (failure !== undefined) throw failureOf(program, launch, failure);
    },
  };
}

/** Writes how many elements each buffer has. */
function setCounts(table: Float64Array, from: number, args: readonly BoundArgument[]): void {
  let place = from;
  for (const argument of args) {
    if (argument.kind !== 'buffer') continue;
    table[place] = countOf(argument);
    place += 1;
  }
}

function countOf({ tensor, dtype }: BoundArgument & { readonly kind: 'buffer' }): number {
  const { storage, layout } = placeOf(tensor, 'launch');
  return storage.count(dtype, layout.offset);
}

/** The error of the interpreter, which would have found the same. */
function failureOf(
  program: BlockProgram,
  { grid: [width, height], args }: PreparedLaunch,
  { unit, site, place }: UnitFailure,
): UserError {
  const rows = Math.floor(unit / width);
  const instance = [unit % width, rows % height, Math.floor(rows / height)] as const;
  const assertions = assertionsOf(program);
  const assertion = assertions[site];
  const node = assertion ?? at(accessesOf(program), site - assertions.length);
  const where = { kernel: program.name, program: instance, origin: node.origin };
  if (node.op === 'assert') return assertionFailed(where, node.attrs.message);
  if (node.op === 'gather') {
    const source = tilesOf(program.body).get(at(node.args, 0));
    return gatherOutOfRange(where, place, at(source?.shape ?? [], node.attrs.axis));
  }
  const argument = at(args, node.attrs.param);
  const size = argument.kind === 'buffer' ? countOf(argument) : 0;
  const fault = { site: where, buffer: argument.name, offset: asOffset(program, at(node.args, 0), place) };
  return outOfBounds(fault, size, node.op === 'load' ? 'reads' : 'writes');
}

/** The offset as the kernel's own arithmetic has it, which wraps. */
function asOffset(program: BlockProgram, tile: number, place: number): number {
  const dtype = tilesOf(program.body).get(tile)?.dtype ?? 'i64';
  return Number(BigInt.asIntN(8 * dtypeInfo[dtype].bytes, BigInt(place)));
}

/** How many launches are known to have been checked; then all of them are forgotten. */
const keptLaunches = 4096;

type Run = PreparedKernel['run'];

/** Runs the first launch for each grid, sizes and scalars by code that checks, and others by code that does not. */
export function checkedFirst(checked: Run, build: () => Run): Run {
  const known = new Set<string>();
  let unchecked: Run | undefined;
  return (launch) => {
    const { grid, args } = launch;
    const key = `${grid.join()} ${args.map((argument) => String(argument.kind === 'buffer' ? countOf(argument) : argument.value)).join()}`;
    if (known.has(key)) {
      unchecked ??= build();
      unchecked(launch);
      return;
    }
    checked(launch);
    if (known.size >= keptLaunches) known.clear();
    known.add(key);
  };
}
