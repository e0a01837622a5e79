// For tests: generated code run on an instruction set, on this machine or in an emulator. In: schedules. Out: the results of
// the code, and those of the loop interpreter on the same inputs. All programs of a set are built into one executable with
// the compiler that fits, and run in one process, so that a set takes seconds.
import { at, dtypeInfo } from '@tsinductor/base';
import { generateBatch } from '@tsinductor/codegen-cpp';
import type { CppBatch, CpuTarget } from '@tsinductor/codegen-cpp';
import { allocateElements, evaluateIndex, interpretProgram } from '@tsinductor/ir';
import type { BufferDecl, BufferId, ElementArray, Index, Schedule } from '@tsinductor/ir';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

type Isa = CpuTarget['isa'];

export interface Machine {
  readonly isa: Isa;
  readonly compiler: string;
  readonly flags: readonly string[];
  /** What runs the executable; empty: the executable itself. */
  readonly emulator: readonly string[];
  /** Words of /proc/cpuinfo that the CPU needs. */
  readonly cpu: readonly string[];
}

export const machines: readonly Machine[] = [
  { isa: 'avx512', compiler: 'g++', flags: ['-march=skylake-avx512'], emulator: [], cpu: ['avx512f', 'avx512bw', 'avx512dq', 'avx512vl'] }, // prettier-ignore
  { isa: 'avx2', compiler: 'g++', flags: ['-march=haswell'], emulator: [], cpu: ['avx2', 'fma', 'f16c'] },
  { isa: 'neon', compiler: 'aarch64-linux-gnu-g++', flags: ['-static'], emulator: ['qemu-aarch64'], cpu: [] },
  { isa: 'scalar', compiler: 'g++', flags: [], emulator: [], cpu: [] },
];

/** Why a machine's code cannot be run here; undefined: it can. */
export function missing({ isa, compiler, emulator, cpu }: Machine): string | undefined {
  for (const program of [compiler, ...emulator])
    if (spawnSync(program, ['--version']).status !== 0) return `${isa} skipped: no ${program}`;
  if (cpu.length === 0) return undefined;
  const flags = new Set(/^flags\s*:(.*)$/m.exec(cpuinfo())?.[1]?.split(' '));
  const lacking = cpu.filter((word) => !flags.has(word));
  return lacking.length === 0 ? undefined : `${isa} skipped: the CPU has no ${lacking.join(', ')}`;
}

function cpuinfo(): string {
  try {
    return readFileSync('/proc/cpuinfo', 'utf8');
  } catch {
    return '';
  }
}

/** What a program computed, one array for each result, beside what the interpreter computes. */
export interface Compared {
  readonly results: readonly ElementArray[];
  readonly wanted: readonly ElementArray[];
}

/** Runs schedules on a machine. Inputs are drawn from a fixed sequence that has special values in it. */
export function runOnTarget(schedules: readonly Schedule[], machine: Machine): readonly Compared[] {
  const batch = generateBatch(schedules, { isa: machine.isa, threads: 2 });
  const memories = schedules.map((schedule, index) => memoryOf(schedule, at(batch.programs, index).workspaceBytes));
  const wanted = schedules.map((schedule, index) => interpreted(schedule, at(memories, index).inputs));
  execute(batch, memories, machine);
  return schedules.map(({ program }, index) => ({
    wanted: at(wanted, index),
    results: program.outputs.map((output, position) => {
      const bytes = at(at(memories, index).blocks, program.inputs.length + position);
      const array = allocateElements(
        declOf(program.buffers, output).dtype,
        known(declOf(program.buffers, output).size),
      );
      new Uint8Array(array.buffer, array.byteOffset, array.byteLength).set(bytes.subarray(0, array.byteLength));
      return array;
    }),
  }));
}

const known = (index: Index): number => evaluateIndex(index, {});

function declOf(buffers: readonly BufferDecl[], id: BufferId): BufferDecl {
  return at(
    buffers,
    buffers.findIndex((buffer) => buffer.id === id),
  );
}

interface Memory {
  readonly inputs: ReadonlyMap<BufferId, ElementArray>;
  /** Inputs, results, the constants' block, the workspace: what an entry is called with. */
  readonly blocks: readonly Uint8Array[];
}

function memoryOf({ program }: Schedule, workspace: Index): Memory {
  const inputs = new Map(program.inputs.map((id) => [id, drawn(declOf(program.buffers, id))]));
  const bytes = (array: ElementArray): Uint8Array =>
    new Uint8Array(array.buffer, array.byteOffset, array.byteLength).slice();
  const results = program.outputs.map((id) => {
    const { dtype, size } = declOf(program.buffers, id);
    return new Uint8Array(known(size) * dtypeInfo[dtype].bytes);
  });
  return {
    inputs,
    blocks: [...[...inputs.values()].map(bytes), ...results, new Uint8Array(0), new Uint8Array(known(workspace))],
  };
}

const specialFloats = [0, -0, 1, -1, Infinity, -Infinity, Number.NaN, 0.5, -2.5, 1e-40, 3e38, 65536.5, -88.8, 104.5];
const specialHalves = [0, 0x8000, 0x3c00, 0xbc00, 0x7c00, 0xfc00, 0x7e00, 1, 0x0400, 0x4249];

/** Elements of a buffer: mostly ordinary ones, some special ones where a place of the sequence says so. */
function drawn({ id, dtype, size }: BufferDecl): ElementArray {
  const array = allocateElements(dtype, known(size));
  let state = 12345 + id;
  const next = (): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  for (let index = 0; index < array.length; index += 1) {
    const value = next();
    const isSpecial = next() < 0.02;
    if (array instanceof BigInt64Array) array[index] = isSpecial ? -(2n ** 40n) : BigInt(Math.floor(value * 7));
    else if (dtype === 'f16' || dtype === 'bf16')
      array[index] = isSpecial ? at(specialHalves, index % specialHalves.length) : 0x3c00 + Math.floor(value * 300);
    else if (dtype === 'f32' || dtype === 'f64')
      array[index] = isSpecial ? at(specialFloats, index % specialFloats.length) : value * 6 - 3;
    else array[index] = dtype === 'bool' ? Number(value < 0.5) : Math.floor(value * 7);
  }
  return array;
}

function interpreted({ program }: Schedule, inputs: Memory['inputs']): readonly ElementArray[] {
  const buffers = new Map(inputs);
  for (const id of program.outputs) {
    const { dtype, size } = declOf(program.buffers, id);
    buffers.set(id, allocateElements(dtype, known(size)));
  }
  interpretProgram(program, { buffers, sizes: new Map() });
  return program.outputs.map((id) => buffers.get(id) ?? allocateElements('f32', 0));
}

/** A main function that reads all blocks of all programs from a file, calls the entries, and writes the blocks back. */
function driverOf({ programs }: CppBatch, memories: readonly Memory[]): string {
  const rows = programs.map(({ entry }, index) => {
    const lengths = at(memories, index).blocks.map((block) => String(block.byteLength));
    return `  {${entry}, {${lengths.join(', ')}}},`;
  });
  return `#include <cstdio>
#include <cstdlib>
#include <vector>
struct Runtime {
  void (*parallel)(void (*body)(void *, long, long), void *context, long total, long grain);
  long threads;
};
${programs.map(({ entry }) => `extern "C" int ${entry}(char *const *, const long *, const Runtime *);`).join('\n')}
struct Program { int (*entry)(char *const *, const long *, const Runtime *); std::vector<long> lengths; };
static void parallel(void (*body)(void *, long, long), void *context, long total, long grain) {
  for (long begin = 0; begin < total; begin += grain) body(context, begin, begin + grain < total ? begin + grain : total);
}
int main(int, char **argv) {
  const std::vector<Program> programs = {
${rows.join('\n')}
  };
  FILE *file = std::fopen(argv[1], "rb+");
  const Runtime runtime{parallel, 2};
  long sizes[1] = {}, place = 0;
  for (const Program &program : programs) {
    std::vector<char *> blocks;
    std::fseek(file, place, SEEK_SET);
    for (const long length : program.lengths) {
      char *block = static_cast<char *>(std::aligned_alloc(64, (length + 127) / 64 * 64));
      if (length > 0 && std::fread(block, 1, length, file) != static_cast<size_t>(length)) return 2;
      blocks.push_back(block);
    }
    if (program.entry(blocks.data(), sizes, &runtime) != 0) return 3;
    std::fseek(file, place, SEEK_SET);
    for (size_t index = 0; index < blocks.size(); ++index) {
      std::fwrite(blocks[index], 1, program.lengths[index], file);
      place += program.lengths[index];
      std::free(blocks[index]);
    }
  }
  return std::fclose(file);
}
`;
}

const flags: readonly string[] = [
  '-std=c++17', '-O1', '-fno-math-errno', '-ffp-contract=off', '-fwrapv', '-fno-exceptions', '-fno-strict-aliasing', '-w', '-Wno-psabi',
]; // prettier-ignore

function execute(batch: CppBatch, memories: readonly Memory[], { compiler, flags: own, emulator }: Machine): void {
  const folder = mkdtempSync(join(tmpdir(), 'tsinductor-targets-'));
  try {
    const sources = [...batch.units, { name: 'main.cpp', source: driverOf(batch, memories) }].map(
      ({ name, source }) => {
        writeFileSync(join(folder, name), source);
        return join(folder, name);
      },
    );
    const [program, data] = [join(folder, 'program'), join(folder, 'data')];
    run(compiler, [...flags, ...own, '-o', program, ...sources]);
    writeFileSync(data, Buffer.concat(memories.flatMap(({ blocks }) => blocks)));
    const command = [...emulator, program, data];
    run(at(command, 0), command.slice(1));
    const after = readFileSync(data);
    let place = 0;
    for (const block of memories.flatMap(({ blocks }) => blocks)) {
      block.set(after.subarray(place, place + block.byteLength));
      place += block.byteLength;
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function run(command: string, args: readonly string[]): void {
  const { status, signal, stderr } = spawnSync(command, args, {
    encoding: 'utf8',
    timeout: 240_000,
    maxBuffer: 1 << 26,
  });
  if (status !== 0) throw new RangeError(`${command} ended with ${String(status ?? signal)}: ${stderr.slice(0, 4000)}`);
}
