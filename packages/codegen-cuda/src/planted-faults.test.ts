// Faults planted into kernels, each caught by the check of the emulation that is meant for it, and named with kernel, block
// and thread; and the same kernels without the fault, which pass. What CUDA code says here, generated code says.
import { describe, expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cudaEmulationHeader } from '@tsinductor/runtime';
import { hasCompiler } from '@tsinductor/testing/loops';

const ring = hasCompiler() ? describe : describe.skip;
if (!hasCompiler()) process.stderr.write('host ring skipped: no g++\n');

interface Planted {
  readonly name: string;
  readonly body: string;
  readonly threads?: number;
  readonly blocks?: number;
  /** What the emulation says; undefined: nothing. */
  readonly says: RegExp | undefined;
}

const neighbour = (barrier: string): string =>
  `f32 *const row = (f32 *)block_shared_memory();
   row[thread] = x[block * 64 + thread];
   ${barrier}
   out[block * 64 + thread] = row[(thread + 33) % 64];`;

const copied = (wait: string): string =>
  `f32 *const row = (f32 *)block_shared_memory();
   emulation::copyLater(row + thread * 4, x + thread * 4, 16, 16);
   emulation::commitCopies();
   ${wait}
   __syncthreads();
   if (thread == 0) flag[0] = row[63] == x[63] ? 1 : 0;`;

/** A warp's product of small whole numbers: A is 16 x 16, B 16 x 8; the fragments as PTX documents them. */
const product = (fragment: string): string =>
  `const int g = thread / 4, t = thread % 4;
   const auto half = [](int value) { return (unsigned)(unsigned short)(__float_as_int((float)value) >> 16); };
   const auto left = [&](int row, int column) { return half((row * 3 + column) % 7 - 3) | half((row * 3 + column + 1) % 7 - 3) << 16; };
   const auto right = [&](int row, int column) { return half((row + column * 2) % 5 - 2) | half((row + 1 + column * 2) % 5 - 2) << 16; };
   const unsigned a[4] = {left(g, 2 * t), ${fragment}, left(g, 2 * t + 8), left(g + 8, 2 * t + 8)};
   const unsigned b[2] = {right(2 * t, g), right(2 * t + 8, g)};
   const float zero[4] = {0, 0, 0, 0};
   float d[4];
   emulation::multiply16816(d, a, b, zero, emulation::bfloatValue);
   for (int slot = 0; slot < 4; ++slot) {
     const int row = g + slot / 2 * 8, column = 2 * t + slot % 2;
     int sum = 0;
     for (int k = 0; k < 16; ++k) sum += ((row * 3 + k) % 7 - 3) * ((k + column * 2) % 5 - 2);
     if (d[slot] != (float)sum) flag[0] = 0;
   }`;

const planted: readonly Planted[] = [
  { name: 'a barrier where it belongs', body: neighbour('__syncthreads();'), says: undefined },
  { name: 'a missing barrier', body: neighbour(''), says: /race: byte \d+ of out depends on the order/ },
  {
    name: 'a race between blocks',
    body: 'if (thread == 0) out[0] = (f32)block;',
    says: /race: byte \d+ of out depends on the order/,
  },
  { name: 'atomic updates by all blocks', body: 'atomicAdd(flag + 1, 1);', says: undefined },
  { name: 'a read out of bounds', body: 'out[block * 64 + thread] = x[block * 64 + thread + 64];', says: /out of bounds: touches memory beside x, which has 512 bytes \(block 1, thread 0,/ }, // prettier-ignore
  { name: 'a write out of bounds', body: 'out[block * 64 - thread] = 1;', says: /out of bounds: touches memory beside out/, blocks: 20 }, // prettier-ignore
  { name: 'a divergent barrier', body: 'if (thread < 40) __syncthreads();', says: /divergent barrier: this thread does not reach the barrier .*thread 40,/ }, // prettier-ignore
  { name: 'a shuffle that a lane misses', body: 'if (thread % 32 != 5) out[block * 64 + thread] = __shfl_down_sync(0xffffffffu, 1.0f, 1);', says: /has ended, but a collective of its warp names it .*thread 5,/ }, // prettier-ignore
  { name: 'a lane in another collective', body: 'if (thread % 32 == 7) __syncwarp(); else out[block * 64 + thread] = __shfl_down_sync(0xffffffffu, 1.0f, 1);', says: /takes part in another collective than its warp/ }, // prettier-ignore
  { name: 'an aligned wide load', body: 'if (thread < 16) out[block * 64 + thread] = wide<const Four>(x + thread * 4)->at[1];', says: undefined }, // prettier-ignore
  { name: 'a misaligned wide load', body: 'out[block * 64 + thread] = wide<const Four>(x + thread)->at[1];', says: /misaligned access of 16 bytes .*thread 1,/ }, // prettier-ignore
  {
    name: 'a copy that is waited for',
    body: copied('emulation::waitCopies(0);'),
    threads: 16,
    blocks: 1,
    says: undefined,
  },
  { name: 'a missing wait', body: copied(''), threads: 16, blocks: 1, says: /flag is 0/ },
  {
    name: 'a wait for too few groups',
    body: copied('emulation::waitCopies(1);'),
    threads: 16,
    blocks: 1,
    says: /flag is 0/,
  },
  { name: 'the documented fragments', body: product('left(g + 8, 2 * t)'), threads: 32, blocks: 1, says: undefined },
  { name: 'a wrong fragment lane', body: product('left(g + 8, 2 * t + 2)'), threads: 32, blocks: 1, says: /flag is 0/ },
];

/** One program with every kernel; it prints a line for each. */
function run(): readonly string[] {
  const kernels = planted.map(
    ({ body }, index) =>
      `extern "C" __global__ void kernel_${String(index)}(const f32 *x, f32 *out, int *flag) {\n` +
      `  const int thread = threadIdx.x, block = blockIdx.x;\n  (void)thread, (void)block, (void)x, (void)out, (void)flag;\n  ${body}\n}`,
  );
  const calls = planted.map(
    ({ threads = 64, blocks = 2 }, index) =>
      `report({"kernel_${String(index)}", ${String(blocks)}, ${String(threads)}, 4096, true, [](char *const *own, const long *, int *) { kernel_${String(index)}((const f32 *)own[0], (f32 *)own[1], (int *)own[2]); }, nullptr, 3});`,
  );
  const source = [
    cudaEmulationHeader(),
    'typedef float f32;',
    'struct alignas(16) Four { f32 at[4]; };',
    ...kernels,
    'static void report(emulation::Launch launch) {',
    '  static f32 x[128], out[2048];',
    '  int flag[2] = {1, 0}, status = 0;',
    '  for (int i = 0; i < 128; ++i) x[i] = (f32)i;',
    '  memset(out, 0, sizeof out);',
    '  const emulation::Argument arguments[] = {{"x", (char *)x, sizeof x, false}, {"out", (char *)out, sizeof out, true}, {"flag", (char *)flag, sizeof flag, true}};',
    '  launch.arguments = arguments;',
    '  if (!emulation::launch(launch, nullptr, &status)) puts(emulation::message());',
    '  else puts(flag[0] == 1 ? "fine" : "flag is 0");',
    '}',
    `int main() {\n  ${calls.join('\n  ')}\n}`,
  ].join('\n');
  const folder = mkdtempSync(join(tmpdir(), 'tsinductor-planted-'));
  try {
    const [file, program] = [join(folder, 'planted.cc'), join(folder, 'planted')];
    writeFileSync(file, source);
    const built = spawnSync('g++', ['-std=c++17', '-O0', '-w', '-o', program, file], { encoding: 'utf8' });
    expect(built.stderr).toBe('');
    const { stdout } = spawnSync(program, [], { encoding: 'utf8', timeout: 60_000 });
    return stdout.trim().split('\n');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

ring('planted faults', () => {
  const lines = hasCompiler() ? run() : [];
  test.each(planted.map((one, index) => [one.name, one, index] as const))('%s', (_, { says }, index) => {
    if (says === undefined) expect(lines[index]).toBe('fine');
    else {
      expect(lines[index]).toMatch(says);
      if (!String(lines[index]).startsWith('flag')) expect(lines[index]).toContain(`kernel_${String(index)}: `);
    }
  });
});
