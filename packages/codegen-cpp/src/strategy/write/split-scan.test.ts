// Scans of few long rows, cut in chunks: which kernels have the three steps, and that chunks and threads change no result.
import { describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import { evaluateIndex } from '@tsinductor/ir';
import { cases, compileNative, entryBuffers, hasCompiler, inputsOf } from '@tsinductor/testing/loops';
import type { Case } from '@tsinductor/testing/loops';
import { bindSchedule, generateCpp } from '../../generate.ts';
import type { CpuTarget } from '../../machine/target.ts';

const ring = hasCompiler() ? describe : describe.skip;
if (!hasCompiler()) process.stderr.write('host ring skipped: no g++\n');

const target: CpuTarget = { isa: 'avx512', threads: 2 };
const long = 150_000;

/** The statements of a case's kernel, those of one kind as one, and its notes. */
function stepsOf({ schedule }: Case, on: CpuTarget = target) {
  const { body, notes } = at(bindSchedule(schedule, on), 0);
  const kinds = body.map(({ kind }) => kind);
  return { kinds: kinds.filter((kind, index) => kind !== kinds[index - 1]), notes };
}

const three = ['parallel', 'for', 'parallel'];
const textOf = ({ schedule }: Case, on: CpuTarget = target): string =>
  generateCpp(schedule, on)
    .units.map(({ source }) => source)
    .join('\n');

describe('a scan of a long row', () => {
  test('is the totals of its chunks, their sums in order, and the chunks from there', () => {
    const one = cases.scanned(1, long);
    expect(stepsOf(one)).toEqual({
      kinds: three,
      notes: ['j in chunks: the total of each, then each from those before it', 'loops i j, 16 lanes of j'],
    });
    const text = textOf(one);
    expect(text).toMatch(/partial\[chunk\] = add_\d+;/);
    expect(text).toMatch(/partial\[chunk_1\] = state;\n\s+const f32 add_\d+ = state \+ partial_state;\n\s+state = /);
    expect(text).toMatch(/f32x16 out_out_state_\d+ = partial_state_all;\n\s+for \(i64 j_\d+ = chunk_2 \* 32768; /);
  });

  test('computes for the totals what its step reads alone, and writes none of that', () => {
    const [, totals = '', scan = ''] = textOf(cases.scannedProducts(1, long)).split(/static void \w+_part\d?\(/);
    expect(totals.match(/store_f32x16\(|partial\[chunk\] = /g)).toEqual(['partial[chunk] = ']);
    expect(totals).toMatch(/f32x16 mul = in0_\d \* in1_\d;/);
    expect(scan).toContain('store_f32x16(products');
    expect(scan).toContain('store_f32x16(out_out');
  });

  test.each<[string, Case, CpuTarget]>([
    ['on one thread', cases.scanned(1, long), { ...target, threads: 1 }],
    ['of rows for all threads', cases.scanned(2, long), target],
    ['of a row that is short', cases.scanned(1, 130_000), target],
    ['where reductions are not', cases.scanned(1, long), { ...target, splitReductions: false }],
    ['in fewer chunks than there are to be', cases.scanned(1, long), { ...target, leastSplits: 6 }],
  ])('is left whole %s', (_, one, on) => {
    expect(stepsOf(one, on).notes.join()).not.toContain('chunks');
  });

  test('has as many rows as there are pairs of threads, or vectors of them', () => {
    expect(stepsOf(cases.scanned(3, long), { ...target, threads: 5 }).kinds).not.toEqual(three);
    expect(stepsOf(cases.scanned(3, long), { ...target, threads: 6 }).kinds).toEqual(three);
    expect(stepsOf(cases.scanned(long, 16, 'columns')).kinds).toEqual(three);
    expect(stepsOf(cases.scanned(long, 17, 'columns')).kinds).not.toEqual(three);
  });

  test('says what keeps it whole', () => {
    const tiled = cases.scanned(16, long, 'rows, logarithms');
    expect(stepsOf(tiled).notes).toContain('j not in chunks: tiles hold the states of several rows');
    expect(stepsOf(cases.scannedTwice(1, long)).notes).toContain('j not in chunks: a scan follows another');
  });
});

ring('compiled scans of long rows', () => {
  /** The bytes of the results. */
  function resultsOf(one: Case, threads: number): readonly Buffer[] {
    const { units, entry, workspaceBytes } = generateCpp(one.schedule, { ...target, isa: 'avx2', threads });
    const compiled = compileNative(units, ['-O1']);
    const sizes = [...one.sizes.values()];
    const bytes = evaluateIndex(workspaceBytes, { sizes: one.sizes });
    const buffers = entryBuffers(one.schedule, { inputs: inputsOf(one), sizes: one.sizes }, bytes);
    expect(compiled.call(entry, { buffers, sizes, threads, repeats: 0 }).status).toBe(0);
    compiled.dispose();
    const { inputs, outputs } = one.schedule.program;
    return outputs.map((_, output) => Buffer.from(at(buffers, inputs.length + output)));
  }

  test('have the same bits on two threads, three and eight', () => {
    const one = cases.scannedProducts(1, long + 7);
    const wanted = resultsOf(one, 2);
    for (const threads of [2, 3, 8])
      resultsOf(one, threads).forEach((bytes, output) => {
        expect(Buffer.compare(bytes, at(wanted, output))).toBe(0);
      });
    const other = resultsOf(one, 1);
    expect(other.every((bytes, output) => Buffer.compare(bytes, at(wanted, output)) === 0)).toBe(false);
  });
});
