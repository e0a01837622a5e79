// The machine code of the example kernels: the loops of every kernel work on whole vectors of the instruction set that it is
// made for. In: what the compiler writes as assembly for AVX-512, AVX2 and NEON, of which nothing is run. A set whose
// compiler is not installed is skipped with a line that says so.
import { describe, expect, test } from '@jest/globals';
import { generateBlock } from '@tsinductor/codegen-cpp';
import { constexpr, isPointer, lowerKernel } from '@tsinductor/dsl';
import type { ArgumentFacts, KernelDefinition } from '@tsinductor/dsl';
import { codeFlags } from '@tsinductor/runtime';
import { spawnSync } from 'node:child_process';
import { dropoutKernel } from '../../examples/kernels/src/dropout.ts';
import { softmaxKernel } from '../../examples/kernels/src/fused-softmax.ts';
import { histogramKernel } from '../../examples/kernels/src/histogram.ts';
import { layerNormKernel } from '../../examples/kernels/src/layer-norm.ts';
import { matmulKernel } from '../../examples/kernels/src/matmul.ts';
import { addTotalsKernel, scanKernel } from '../../examples/kernels/src/prefix-sum.ts';
import { addKernel } from '../../examples/kernels/src/vector-add.ts';

interface Example {
  readonly definition: KernelDefinition;
  readonly constants: Readonly<Record<string, number>>;
  /** A sum runs from each element to the next: its loop takes one at a time, in the order that defines its bits. */
  readonly hasRunningSum?: boolean;
}

const examples: Readonly<Record<string, Example>> = {
  'vector add': { definition: addKernel.definition, constants: { BLOCK: 1024 } },
  'fused softmax': { definition: softmaxKernel.definition, constants: { BLOCK: 512 } },
  'layer norm': { definition: layerNormKernel.definition, constants: { BLOCK: 512 } },
  dropout: { definition: dropoutKernel.definition, constants: { BLOCK: 1024 } },
  matmul: { definition: matmulKernel.definition, constants: { BM: 64, BN: 64, BK: 128 } },
  histogram: { definition: histogramKernel.definition, constants: { BLOCK: 512 } },
  scan: { definition: scanKernel.definition, constants: { BLOCK: 1024 }, hasRunningSum: true },
  'add totals': { definition: addTotalsKernel.definition, constants: { BLOCK: 1024, BLOCKS: 16 } },
};

interface Machine {
  readonly isa: 'avx512' | 'avx2' | 'neon';
  readonly compiler: string;
  readonly flags: readonly string[];
  /** A register of the full width, as assembly names it. */
  readonly full: RegExp;
  /** Arithmetic on one float. */
  readonly scalar: RegExp;
}

const x86Scalar = /^\tv(?:add|sub|mul|div|sqrt|max|min|fn?m(?:add|sub)\d+)ss\t/m;
const machines: readonly Machine[] = [
  { isa: 'avx512', compiler: 'g++', flags: ['-march=skylake-avx512'], full: /%zmm\d/, scalar: x86Scalar },
  { isa: 'avx2', compiler: 'g++', flags: ['-march=haswell'], full: /%ymm\d/, scalar: x86Scalar },
  { isa: 'neon', compiler: 'aarch64-linux-gnu-g++', flags: [], full: /\bv\d+\.(?:4s|2d|8h|16b)|\bq\d+\b/, scalar: /^\tf(?:add|sub|mul|div|sqrt|max|min|n?m(?:add|sub))\ts\d/m },
]; // prettier-ignore

/** The C++ of a kernel whose arguments are divisible by 16, as tensors and most sizes are. */
function sourceOf({ definition, constants }: Example, isa: Machine['isa']): string {
  const facts = Object.entries(definition.schema).flatMap(([name, entry]): [string, ArgumentFacts][] => {
    if (entry === constexpr) return [];
    const dtype = isPointer(entry) ? (entry.dtype ?? 'f32') : entry;
    return typeof dtype === 'string' ? [[name, { dtype, divisor: 16 }]] : [];
  });
  const program = lowerKernel(definition, { arguments: Object.fromEntries(facts), constants });
  return generateBlock(program, { isa, mayAlias: false })
    .units.map(({ source }) => source)
    .join('\n');
}

/** The innermost loops of a text in assembly: from a label to a jump back to it, without another such jump between. */
function innermostLoops(assembly: string): readonly string[] {
  const lines = assembly.split('\n');
  const places = new Map(
    lines.flatMap((line, index) => (line.startsWith('.L') ? [[line.slice(0, line.indexOf(':')), index]] : [])),
  );
  const jumps = lines.flatMap((line, end) => {
    const label = /^\t(?:j\w+|b(?:\.?\w+)?|cbnz|tbnz|cbz)\t.*?(\.L\w+)$/.exec(line)?.[1];
    const begin = label === undefined ? undefined : places.get(label);
    return begin !== undefined && begin < end ? [{ begin, end }] : [];
  });
  return jumps
    .filter(({ begin, end }) => !jumps.some((other) => other.end < end && other.begin >= begin))
    .map(({ begin, end }) => lines.slice(begin, end + 1).join('\n'));
}

describe.each(machines)('$isa', ({ isa, compiler, flags, full, scalar }) => {
  const isMissing = spawnSync(compiler, ['--version']).status !== 0;
  if (isMissing) process.stderr.write(`widths of ${isa} skipped: no ${compiler}\n`);
  const given = codeFlags('gcc').filter((flag) => !flag.startsWith('-m'));

  (isMissing ? test.skip : test).each(Object.entries(examples))('%s', (_, example) => {
    const args = [...given, ...flags, '-x', 'c++', '-', '-S', '-o', '-'];
    const { stdout, stderr } = spawnSync(compiler, args, { input: sourceOf(example, isa), encoding: 'utf8' });
    expect(stderr).toBe('');
    const loops = innermostLoops(stdout);
    expect(loops.some((loop) => full.test(loop))).toBe(true);
    const sums = loops.filter((loop) => scalar.test(loop));
    if (example.hasRunningSum === true) expect(sums).toHaveLength(1);
    else expect(sums).toEqual([]);
  });
});
