// Tensors and compiled functions on a CUDA device, end to end, without a GPU: an emulated nvcc makes the code, an emulated
// driver launches it and keeps a log, and the results are compared with those of the CPU.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  arange,
  f32,
  i32,
  i64,
  manualSeed,
  memoryStats,
  nn,
  ones,
  rand,
  scope,
  tensor,
  zeros,
} from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import { hasCompiler } from '@tsinductor/testing/loops';
import { DriverControl, emulatedDriver, emulatedNvcc } from '@tsinductor/testing/emulated-cuda';
import { settled } from '@tsinductor/testing/settled';
import { constexpr, ptr } from '@tsinductor/dsl';
import { compile } from '../compile.ts';
import { openDevices, reset, setConfig } from '../default-compiler.ts';
import { kernel } from '../kernels/kernel.ts';

if (!hasCompiler()) process.stderr.write('emulated CUDA device skipped: no C++ compiler\n');
const ring = hasCompiler() ? describe : describe.skip;
const directory = mkdtempSync(join(tmpdir(), 'tsinductor-device-'));
const emulated = { cudaCxx: '', driver: '' };
let stub: DriverControl;

afterAll(() => {
  reset();
  rmSync(directory, { recursive: true, force: true });
});

const codeOf = (work: () => unknown): string => {
  try {
    work();
  } catch (error) {
    return `${(error as { code?: string }).code ?? 'no code'}: ${(error as Error).message}`;
  }
  return 'nothing was thrown';
};

ring('a CUDA device', () => {
  beforeAll(() => {
    Object.assign(emulated, { cudaCxx: emulatedNvcc(directory), driver: emulatedDriver(directory) });
    setConfig({ cacheDir: join(directory, 'cache'), cuda: emulated });
    stub = new DriverControl(openDevices().driver());
  });

  const matrix = (): Tensor =>
    tensor(
      Float32Array.from({ length: 12 }, (_, i) => i / 4 - 1),
      { shape: [3, 4] },
    );

  describe('tensors', () => {
    test('share out what the process may take of a device when it opens it', () => {
      // 80 KiB of the 80 GiB that the driver tells of.
      setConfig({
        cacheDir: join(directory, 'cache'),
        cuda: { ...emulated, memoryFraction: 2 ** -20, preallocate: true },
      });
      stub.log();
      const x = tensor([1, 2], { device: 'cuda:1' });
      expect(stub.log().filter((line) => line.startsWith('cuMemAlloc'))).toEqual(['cuMemAlloc_v2 81920']);
      expect(x.add(1).toArray()).toEqual([2, 3]);
      expect(codeOf(() => zeros([100_000], { device: 'cuda:1' }))).toMatch(/^CUDA_OUT_OF_MEMORY: .* may take 81920/);
      setConfig({ cacheDir: join(directory, 'cache'), cuda: emulated });
    });

    test('are arguments of a kernel that is launched, on one device', () => {
      const scale = kernel(
        'scale',
        { x: ptr(f32), out: ptr(f32), n: i64, factor: f32, BLOCK: constexpr },
        ({ x, out, n, factor, BLOCK }, tl) => {
          const offs = tl.programId(0) * BLOCK + tl.arange(0, BLOCK);
          tl.store(out + offs, tl.load(x + offs, offs < n) * factor, offs < n);
        },
      );
      const [x, out] = [matrix().cuda(), zeros([13], { device: 'cuda' })];
      const args = { x, out: out.slice(0, 1, 13), n: 12, factor: 0.5, BLOCK: 8 };
      stub.log();
      scale.launch([2], args);
      scale.launch([2], { ...args, factor: -3 });
      expect(stub.log().filter((line) => /cuModuleLoad|cuLaunchKernel|cuMemcpyD/.test(line))).toEqual([
        'cuModuleLoadData',
        expect.stringMatching(/^cuLaunchKernel .*2/),
        expect.stringMatching(/^cuLaunchKernel .*2/),
      ]);
      expect(out.toArray()).toEqual([0, ...(matrix().flatten().mul(-3).toArray() as number[])]);
      const both = codeOf(() => {
        scale.launch([2], { ...args, x: matrix() });
      });
      expect(both).toContain('KERNEL_LAUNCH_ARGUMENT: kernel scale: out is a tensor on cuda:0, and x one on cpu');
      const asked = codeOf(() => {
        scale.launch([2], args, { backend: 'interpreter' });
      });
      expect(asked).toContain('x is a tensor on cuda:0, and the backend interpreter runs on the CPU');
    });

    test('are no arguments of a kernel in a compiled function', () => {
      const double = kernel('double', { x: ptr(f32) }, ({ x }, tl) => {
        tl.store(x, tl.load(x) * 2);
      });
      const launch = (x: Tensor): Tensor => {
        double.launch([1], { x });
        return x;
      };
      const refused = 'KERNEL_LAUNCH_ARGUMENT: kernel double: x is a tensor on cuda:0';
      expect(launch(matrix().cuda()).sum().item()).toBe(Number(matrix().sum().item()) - 1);
      expect(codeOf(() => compile(launch)(matrix().cuda()))).toContain(refused);
      // Here the graph runs on the device, and what is made for the kernel with it.
      const mixed = compile((x: Tensor, y: Tensor) => launch(x.add(1)).sum().add(y.sum().cpu()));
      expect(codeOf(() => mixed(matrix(), matrix().cuda()))).toContain(refused);
      const tuned = double.autotune({ configs: [{}], key: [] });
      expect(
        codeOf(() => {
          tuned.launch([1], { x: matrix().cuda() });
        }),
      ).toContain(refused);
    });

    test('go there and come back, with every dtype, also views', async () => {
      const x = matrix().to('cuda');
      expect(x.device).toBe('cuda:0');
      expect(x.to('cuda:0')).toBe(x);
      expect(x.cpu().toArray()).toEqual(matrix().toArray());
      expect(await x.data()).toEqual(await matrix().data());
      expect(x.t().at(1).toArray()).toEqual(matrix().t().at(1).toArray());
      for (const dtype of ['f64', 'f16', 'bf16', 'i64', 'i32', 'i16', 'i8', 'u8', 'bool'] as const) {
        const y = tensor(
          [
            [0, 1],
            [1, 3],
          ].map((row) => row.map((value) => (dtype === 'bool' ? value > 0 : value))),
          { dtype },
        );
        expect(y.cuda().toArray()).toEqual(y.toArray());
      }
      expect(zeros([0, 3]).cuda().toArray()).toEqual([]);
    });

    test('are made there, and print where they are', () => {
      expect(zeros([2], { device: 'cuda' }).device).toBe('cuda:0');
      expect(tensor([1, 2], { device: 'cuda:1' }).device).toBe('cuda:1');
      expect(arange(3, { device: 'cuda', dtype: 'i32' }).toArray()).toEqual([0, 1, 2]);
      expect(String(tensor([1, 2], { device: 'cuda' }))).toBe('tensor([1, 2], shape=[2], dtype=i64, device=cuda:0)');
      manualSeed(7);
      const here = rand([5]).toArray();
      manualSeed(7);
      expect(rand([5], { device: 'cuda' }).toArray()).toEqual(here);
    });

    test('give their memory back to the allocator, which uses it again', async () => {
      scope(() => {
        tensor(new Float32Array(100), { device: 'cuda' });
      });
      const before = await settled(() => memoryStats().device);
      stub.log();
      const x = tensor(new Float32Array(100), { device: 'cuda' });
      expect(memoryStats().device - before).toBe(400);
      x.dispose();
      expect(memoryStats().device).toBe(before);
      expect(stub.log()).toEqual(['cuMemcpyHtoDAsync_v2']);
    });

    test('are no devices of the CPU’s', () => {
      expect(codeOf(() => matrix().to('cuda:x' as 'cuda'))).toMatch(
        /^DEVICE_NAME: the string "cuda:x" is not a device/,
      );
      expect(codeOf(() => matrix().to('cuda:2'))).toMatch(/^CUDA_NO_DEVICE: there is no CUDA device 2.*sees 2/);
      expect(codeOf(() => matrix().add(1, { device: 'cuda' } as never))).toMatch(/^OPTION_UNKNOWN/);
    });
  });

  describe('operators', () => {
    test('run there, each as a kernel of its own', () => {
      const x = matrix().cuda();
      stub.log();
      const y = x.add(x).exp();
      expect(y.device).toBe('cuda:0');
      expect(stub.log().filter((line) => line.startsWith('cuLaunchKernel'))).toHaveLength(2);
      expect(y.toArray()).toEqual(matrix().add(matrix()).exp().toArray());
      expect(x.sum().item()).toBe(matrix().sum().item());
    });

    test('take numbers and 0-d tensors of the CPU beside others, and nothing else', () => {
      const x = matrix().cuda();
      expect(x.mul(tensor(2)).device).toBe('cuda:0');
      const message = codeOf(() => x.add(matrix()));
      expect(message).toMatch(
        /^DEVICE_MISMATCH: add: its tensors are on different devices: argument 0 \(f32\[3, 4\]\) is on cuda:0, and argument 1 \(f32\[3, 4\]\) is on cpu/,
      );
      expect(codeOf(() => x.add(matrix().to('cuda:1')))).toContain('is on cuda:1');
    });

    test('in place, also through views with gaps', () => {
      const [x, y] = [matrix().cuda(), matrix()];
      for (const target of [x, y]) {
        target.add_(1);
        target.t().at(1).mul_(3);
        target.set([1], 5);
        target.at(2).copy_(tensor([1, 2, 3, 4], { dtype: 'f32' }));
      }
      expect(x.toArray()).toEqual(y.toArray());
    });

    test('whose results only values decide', () => {
      const x = tensor([3, -1, 2, -4], { device: 'cuda' });
      const positive = x.maskedSelect(x.gt(0));
      expect([positive.device, positive.toArray()]).toEqual(['cuda:0', [3, 2]]);
    });
  });

  describe('compiled functions', () => {
    const normalise = (x: Tensor, b: Tensor): Tensor => x.add(b).softmax(-1);

    test('run there, launch after launch, and guard where their tensors are', () => {
      const fn = compile(normalise);
      const [x, b] = [matrix(), tensor([1, 2, 3, 4], { dtype: f32 })];
      const expected = fn(x, b);
      stub.log();
      const y = fn(x.cuda(), b.cuda());
      const log = stub.log();
      expect(y.device).toBe('cuda:0');
      expect(fn.cacheInfo().recompiles).toBe(1);
      expect(fn.explain().toString()).toContain('f32[3, 4] on cuda:0');
      expect(fn.graphs()[0]?.runsOn).toBe('CUDA code for sm_90a on cuda:0 (stub)');
      const launched = log.flatMap((line) => /^cuLaunchKernel (\w+) \d+ x \d+ shared \d+$/.exec(line)?.[1] ?? []);
      expect(launched).toEqual(fn.graphs()[0]?.kernels.map(({ name }) => expect.stringContaining(name)));
      expect(log.indexOf('cuModuleLoadData')).toBeLessThan(log.indexOf(`cuModuleGetFunction ${launched[0] ?? ''}`));
      expect(y.sub(expected.cuda()).abs().max().item()).toBeLessThan(1e-6);
      stub.log();
      fn(x.cuda(), b.cuda());
      expect(stub.log().filter((line) => /^cu(Module|Stream)/.test(line))).toEqual([]);
    });

    test('in the background, from the lower tier to the device', () => {
      const fn = compile((y: Tensor, c: Tensor) => normalise(y, c).mul(3), { background: true });
      const [x, b] = [matrix().mul(2).cuda(), tensor([4, 3, 2, 1], { dtype: f32 }).cuda()];
      const first = fn(x, b);
      expect([first.device, fn.cacheInfo().building]).toEqual(['cuda:0', 1]);
      while (fn.cacheInfo().building > 0) fn(x, b);
      expect(fn.graphs()[0]?.runsOn).toBe('CUDA code for sm_90a on cuda:0 (stub)');
      expect(fn(x, b).sub(first).abs().max().item()).toBeLessThan(1e-6);
    });

    test('with symbolic sizes, reductions in chunks and matrix products', () => {
      const fn = compile((x: Tensor, w: Tensor) => x.matmul(w).relu().sum(), { dynamic: true });
      for (const rows of [5, 9]) {
        const x = tensor(
          Float32Array.from({ length: rows * 4 }, (_, i) => (i % 7) - 3),
          { shape: [rows, 4] },
        );
        const w = ones([4, 6]);
        expect(fn(x.cuda(), w.cuda()).item()).toBe(x.matmul(w).relu().sum().item());
      }
      expect(fn.cacheInfo().entries).toBe(1);
      const long = tensor(Float32Array.from({ length: 40_000 }, (_, i) => i % 3));
      expect(compile((x: Tensor) => x.sum())(long.cuda()).item()).toBe(39_999);
    });

    test('write to their arguments, and send tensors back and forth', () => {
      const x = zeros([4], { device: 'cuda' });
      const fn = compile((target: Tensor, y: Tensor) => {
        target.add_(y.cuda());
        return target.mul(2).cpu();
      });
      const result = fn(x, tensor([1, 2, 3, 4], { dtype: 'f32' }));
      expect(result.device).toBe('cpu');
      expect([result.toArray(), x.toArray()]).toEqual([
        [2, 4, 6, 8],
        [1, 2, 3, 4],
      ]);
    });

    test('that read values run in segments there', () => {
      const fn = compile((x: Tensor) => (Number(x.sum().item()) > 0 ? x.mul(2) : x.neg()));
      expect(fn(ones([3]).cuda()).toArray()).toEqual([2, 2, 2]);
      const negative = fn(ones([3]).neg().cuda());
      expect([negative.device, negative.toArray()]).toEqual(['cuda:0', [1, 1, 1]]);
    });

    test('draw the numbers that eager mode draws', () => {
      const drop = (x: Tensor): Tensor => nn.functional.dropout(x, { p: 0.5 });
      manualSeed(3);
      const expected = drop(ones([16])).toArray();
      manualSeed(3);
      expect(compile(drop)(ones([16]).cuda()).toArray()).toEqual(expected);
    });

    test('inputs that are not aligned are copied for the call', () => {
      const x = arange(9, { dtype: 'f32' }).cuda();
      const fn = compile((y: Tensor) => y.add(1));
      fn(x.slice(0, 0, 8));
      stub.log();
      expect(fn(x.slice(0, 1, 9)).toArray()).toEqual([2, 3, 4, 5, 6, 7, 8, 9]);
      expect(stub.log()).toContain('cuMemcpyDtoDAsync_v2');
    });

    test('a failed check names the operator', () => {
      const fn = compile((x: Tensor, index: Tensor) => x.indexSelect(0, index));
      const x = arange(4, { dtype: 'f32' }).cuda();
      const places = (...values: number[]): Tensor => tensor(values, { dtype: i32 }).cuda();
      expect(fn(x, places(3, 0)).toArray()).toEqual([3, 0]);
      expect(codeOf(() => fn(x, places(1, 9)))).toMatch(/^INDEX_OUT_OF_RANGE: indexSelect/);
    });

    test('two devices in one graph are an error that names both', () => {
      const fn = compile((x: Tensor) => [x.add(1), x.to('cuda:1').add(1)]);
      expect(codeOf(() => fn(ones([2]).cuda()))).toMatch(/^GRAPH_DEVICES: .*cuda:0 and cuda:1/);
    });
  });

  describe('failures', () => {
    const fresh = (): ((x: Tensor) => Tensor) => compile((x: Tensor) => x.sin().mul(x));

    test('no memory left: what nobody holds is looked for first, and the error says how much was asked for', () => {
      const x = ones([3]).cuda();
      const large = (): Tensor => tensor(new Float32Array(1 << 20), { device: 'cuda' });
      ones([1000]).cuda().dispose();
      stub.failNext('cuMemAlloc_v2', 2, 2);
      large().dispose();
      stub.failNext('cuMemAlloc_v2', 2, 3);
      // Of another size: what is kept of the first does not serve it.
      expect(codeOf(() => tensor(new Float32Array(3 << 20), { device: 'cuda' }))).toMatch(
        /^CUDA_OUT_OF_MEMORY: .*12582912 bytes were asked for/,
      );
      expect(x.toArray()).toEqual([1, 1, 1]);
    });

    test('a kernel that touches what is not its own', () => {
      const [fn, x] = [fresh(), ones([3]).cuda()];
      fn(x);
      stub.failNext('cuStreamSynchronize', 700);
      expect(codeOf(() => fn(x).toArray())).toMatch(/^CUDA_ILLEGAL_ADDRESS: a kernel touched memory/);
      stub.failNext('cuLaunchKernel', 700);
      const held = memoryStats().device;
      expect(codeOf(() => fn(x))).toMatch(/^CUDA_ILLEGAL_ADDRESS/);
      expect(memoryStats().device).toBe(held);
    });

    test('no nvcc: every place that was searched, and the lower tier where that is asked for', () => {
      const x = ones([3]).cuda();
      const { driver } = emulated;
      const other = {
        cuda: { cudaCxx: '/nowhere/a', home: '/nowhere/b', path: '/nowhere/c', installed: '/nowhere/d', driver },
        cpp: { searchPath: '/usr/bin:/bin' },
      };
      const fn = compile((y: Tensor) => y.mul(3).add(2), { options: other });
      const message = codeOf(() => fn(x));
      expect(message).toMatch(/^CUDA_TOOLKIT_NOT_FOUND/);
      for (const place of [
        '/nowhere/a/bin/nvcc',
        '/nowhere/b/bin/nvcc',
        '/nowhere/c/bin/nvcc',
        '/nowhere/d/cuda/bin/nvcc',
      ])
        expect(message).toContain(place);
      const suppressed = compile((y: Tensor) => y.mul(3).add(2), { options: { ...other, suppressErrors: true } });
      const result = suppressed(x);
      expect([result.device, result.toArray()]).toEqual(['cuda:0', [5, 5, 5]]);
      expect(suppressed.graphs()[0]?.runsOn).toContain('generated JavaScript');
      const waiting = compile((y: Tensor) => y.mul(3).add(2), { background: true, options: other });
      expect(waiting(x).toArray()).toEqual([5, 5, 5]);
      expect(codeOf(() => waiting.explain(x))).toMatch(/^CUDA_TOOLKIT_NOT_FOUND/);
    });

    test('code that the driver refuses', () => {
      stub.failNext('cuModuleLoadData', 209);
      expect(codeOf(() => fresh()(ones([5]).cuda()))).toMatch(/^CUDA_DRIVER_FAILED: cuModuleLoadData/);
    });
  });

  test('an architecture of the settings decides the code and its key', () => {
    const run = (arch: '80' | '90a' | null): readonly unknown[] => {
      const fn = compile((x: Tensor) => x.mul(5), { options: { 'cuda.arch': arch } });
      fn(ones([3]).cuda());
      return [fn.graphs()[0]?.runsOn, fn.graphs()[0]?.cacheKey];
    };
    const [own, older] = [run(null), run('80')];
    expect(own[0]).toContain('CUDA code for sm_90a on');
    expect(older[0]).toBe('CUDA code for sm_80, compiled by the driver, on cuda:0 (stub)');
    expect(own[1]).not.toBe(older[1]);
  });

  test('no driver, and one that is too old', () => {
    const x = ones([3]);
    setConfig({ cacheDir: join(directory, 'cache'), cuda: { driver: 'libcuda-that-is-not-there.so' } });
    expect(codeOf(() => x.cuda())).toMatch(/^CUDA_DRIVER_NOT_FOUND: .*libcuda-that-is-not-there/);
    setConfig({ cacheDir: join(directory, 'cache'), cuda: emulated });
  });
});
