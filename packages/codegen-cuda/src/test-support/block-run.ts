// For tests: hand-written kernels as programs with arguments, and what the three that can run them leave in memory: the Block
// IR's interpreter, the bound kernel in the Kernel IR's interpreter, the CUDA source in the emulation.
import { at } from '@tsinductor/base';
import { gridName, paramName } from '@tsinductor/codegen';
import { ptr } from '@tsinductor/dsl';
import type { BlockProgram, ElementArray, Kernel } from '@tsinductor/ir';
import { cudaEmulationHeader } from '@tsinductor/runtime';
import {
  argumentsOf,
  blockCase,
  buffersOf,
  bytesOf,
  floats,
  integers,
  scalarWords,
} from '@tsinductor/testing/block-case';
import type { BlockCase } from '@tsinductor/testing/block-case';
import { compileNative, interpretKernel, memoryOf, readMemory } from '@tsinductor/testing/loops';
import type { Compiled, KernelMemory } from '@tsinductor/testing/loops';
import { addCase, productCase, softmaxCase } from '@tsinductor/testing/sample-kernels';
import type { BlockTarget } from '../block/block-binder.ts';
import { generateCudaBlocks } from '../block/generate-block.ts';
import { emulatedUnit } from '../emulated-unit.ts';
import type { EmulatedUnit } from '../emulated-unit.ts';

/** What the bound kernel leaves there, thread by thread, every access watched. */
export function interpretBound(
  one: BlockCase,
  kernel: Kernel,
  order: 'ascending' | 'descending',
): readonly ElementArray[] {
  const args = argumentsOf(one);
  const memory = new Map<string, KernelMemory>();
  const sizes = new Map<string, number>(one.grid.map((count, axis) => [gridName(axis), count]));
  one.program.params.forEach(({ dtype }, index) => {
    const value = at(args, index);
    if (typeof value === 'number') sizes.set(paramName(one.program, index), value);
    else memory.set(paramName(one.program, index), memoryOf(dtype, value));
  });
  interpretKernel(kernel, { memory, sizes, order });
  one.program.params.forEach((_, index) => {
    const value = at(args, index);
    const own = memory.get(paramName(one.program, index));
    if (typeof value !== 'number' && own !== undefined) readMemory(own, value);
  });
  return buffersOf(args);
}

interface EmulatedBlocks extends EmulatedUnit {
  readonly compiled: Compiled;
}

/** `edit` plants a fault into the generated source. */
export function emulateBlocks(
  programs: readonly BlockProgram[],
  target: BlockTarget,
  edit: (source: string) => string = (source) => source,
): EmulatedBlocks {
  const batch = generateCudaBlocks(programs, target);
  const edited = { ...batch, source: edit(batch.source) };
  const unit = emulatedUnit(edited, { header: cudaEmulationHeader(), name: 'emulated' });
  const told = unit.programs.map(({ entry, words }) => tellingEntry(entry, (words?.position ?? 0) + 1));
  const source = [unit.source, 'namespace entries {', ...told, '}', ''].join('\n');
  const compiled = compileNative([{ name: unit.name, source }], ['-O0', '-Wno-unknown-pragmas']);
  return { ...unit, compiled };
}

/** An entry that leaves what the emulation says of a failure in the buffer at `position`. */
const tellingEntry = (entry: string, position: number): string =>
  `extern "C" int telling_${entry}(char *const *buffers, const long *sizes, const Runtime *runtime) {\n` +
  `  const int status = ${entry}(buffers, sizes, runtime);\n` +
  `  if (status != 0) strcpy(buffers[${String(position)}], emulation::message());\n` +
  '  return status;\n}\n';

const messageBytes = 512;

/** What the emulation leaves in the buffers, and what it says of a failure. */
export function runEmulated(
  one: BlockCase,
  { compiled, programs }: EmulatedBlocks,
  position: number,
): { readonly said: string; readonly buffers: readonly ElementArray[] } {
  const args = argumentsOf(one);
  const buffers = buffersOf(args);
  const message = new Uint8Array(messageBytes);
  compiled.call(`telling_${at(programs, position).entry}`, {
    buffers: [...buffers.map(bytesOf), bytesOf(scalarWords(one.program, args)), message],
    sizes: [...one.grid, ...buffers.map(({ byteLength }) => byteLength)],
    threads: 1,
    repeats: 0,
  });
  return { said: Buffer.from(message).toString('utf8', 0, message.indexOf(0)), buffers };
}

const tilesCase = (): BlockCase =>
  blockCase(
    'tiles',
    { x: ptr('f32'), out: ptr('f32'), places: ptr('i32'), n: 'i32' },
    {
      body: ({ x, out, places, n }, tl) => {
        const r = tl.expandDims(tl.arange(0, 8), 1);
        const c = tl.expandDims(tl.arange(0, 32), 0);
        const mask = r < 7 && c < n;
        const block = tl.load(x + r * n + c, mask, 1);
        const scaled = block * tl.max(block, { axis: 1, keepDims: true }) - tl.sum(block, { axis: 0, keepDims: true });
        tl.store(out + r * n + c, scaled + tl.trans(tl.trans(scaled)), mask);
        tl.store(out + 7 * n + tl.arange(0, 256), tl.ravel(tl.trans(scaled)));
        tl.store(places + tl.arange(0, 8), tl.argmax(scaled, { axis: 1 }));
      },
      args: { x: floats(240), out: new Float32Array(500), places: new Int32Array(8), n: 29 },
    },
  );

const scansCase = (): BlockCase =>
  blockCase(
    'scans',
    { x: ptr('f32'), y: ptr('i32'), out: ptr('f32'), sums: ptr('i32') },
    {
      body: ({ x, y, out, sums }, tl) => {
        const offs = tl.arange(0, 128);
        const values = tl.load(x + offs);
        tl.store(out + offs, tl.cumsum(values, 0));
        const down = tl.associativeScan(tl.reshape(values, [16, 8]), 0, (a, b) => (a > b ? a : b), { reverse: true });
        tl.store(out + 128 + tl.expandDims(tl.arange(0, 16), 1) * 8 + tl.expandDims(tl.arange(0, 8), 0), down);
        const picked = tl.gather(tl.load(y + offs), tl.load(y + offs) & 127, 0);
        tl.store(sums + offs, tl.cumsum(picked, 0));
        tl.store(sums + 128 + offs, tl.cumsum(picked, 0, { reverse: true }));
      },
      args: { x: floats(128), y: integers(128), out: new Float32Array(256), sums: new Int32Array(256) },
    },
  );

const controlCase = (): BlockCase =>
  blockCase(
    'control',
    { out: ptr('i32'), n: 'i32', scale: 'i32' },
    {
      body: ({ out, n, scale }, tl) => {
        const pid = tl.programId(0);
        if (pid >= n) return;
        let steps = 0;
        let value = pid + 1;
        while (value !== 1) {
          value = value % 2 === 0 ? value >> 1 : value * 3 + 1;
          steps += 1;
        }
        let total = tl.zeros([8], tl.f32);
        for (let i = n; i > 0; i -= 2) total += tl.cast(i * scale, tl.f32);
        if (pid > 2) {
          total = total * 2;
          steps += 100;
        }
        tl.deviceAssert(total < 1000, 'sums are small');
        tl.deviceAssert(steps < 200);
        tl.store(out + pid, steps + tl.cast(tl.sum(total), tl.i32));
      },
      grid: [5, 1, 1],
      args: { out: new Int32Array(5), n: 4, scale: 3 },
    },
  );

const atomicsCase = (): BlockCase =>
  blockCase(
    'atomics',
    { x: ptr('i32'), counts: ptr('i32'), best: ptr('f32'), swapped: ptr('i32') },
    {
      body: ({ x, counts, best, swapped }, tl) => {
        const offs = tl.programId(0) * 32 + tl.arange(0, 32);
        const values = tl.load(x + offs);
        tl.atomicAdd(counts + ((values + 50) & 15), 1, values > -40);
        tl.atomicMax(best, tl.cast(tl.max(values), tl.f32));
        tl.atomicCas(swapped, 0, 7);
        tl.store(swapped + 2 + offs, tl.atomicXchg(swapped + 130 + offs, values));
      },
      grid: [2, 1, 1],
      args: {
        x: integers(64),
        counts: new Int32Array(16),
        best: Float32Array.of(-1e30),
        swapped: integers(200).fill(0, 0, 1),
      },
    },
  );

/** Two uses of one buffer that threads must not confuse: read by one, written by another. */
export const reversedCase = (): BlockCase =>
  blockCase(
    'reversed',
    { x: ptr('f32') },
    {
      body: ({ x }, tl) => {
        const offs = tl.arange(0, 64);
        tl.store(x + 63 - offs, tl.load(x + offs));
        tl.store(x + offs, tl.load(x + (offs ^ 1)) + 1);
      },
      args: { x: floats(64) },
    },
  );

/** One of each kind, whose results are the definition's to the bit. */
export const exactCases = (): readonly BlockCase[] => [
  addCase({ n: 700 }),
  addCase({ n: 704, divisor: 16 }),
  softmaxCase({ rows: 3, n: 200 }),
  tilesCase(),
  scansCase(),
  controlCase(),
  atomicsCase(),
  reversedCase(),
  productCase({ dtype: 'f32', precision: 'ieee', sizes: [24, 32, 20], divisor: 16 }),
];
