// Who runs, and how each is run at its best: one row per contender. A row that cannot run says why, in its column.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from './child.ts';
import type { Machine } from './machine.ts';

export type BenchmarkDevice = 'cpu' | 'cuda';

export interface ContenderRow {
  readonly name: string;
  readonly doc: string;
  readonly command: (place: Place) => Command | Missing;
}
/** Why a contender does not run here, and how to get it. */
export interface Missing {
  readonly missing: string;
}
export interface Place {
  readonly root: string;
  readonly machine: Machine;
  readonly device: BenchmarkDevice;
  /** The first interpreter that can import a module, or nothing. */
  readonly pythonWith: (module: string) => string | undefined;
}

/** As users write it: nobody disposes results. The other one does. */
export const ours = 'tsinductor';
export const oursDisposed = 'tsinductor, disposed';

/** What becomes of a result when the next one is made. */
export type ResultUse = 'dropped' | 'disposed';

type Variables = Readonly<Record<string, string | undefined>>;

// Inherited tuning of OpenBLAS would make rows incomparable.
const cleared: Variables = {
  OPENBLAS_CORETYPE: undefined,
  OPENBLAS_L2_SIZE: undefined,
  OPENBLAS_NUM_THREADS: undefined,
};
// Freed blocks stay mapped: fresh pages cost more than most kernels, and only out-of-the-box settings pay them.
const keepBlocks: Variables = {
  MALLOC_MMAP_MAX_: '0',
  MALLOC_TRIM_THRESHOLD_: '17179869184',
  MALLOC_TOP_PAD_: '268435456',
};
const openMpThreads = ({ machine }: Place): Variables => ({ OMP_NUM_THREADS: String(machine.threads) });
const leaveNoBytecode: Variables = { PYTHONDONTWRITEBYTECODE: '1' };
const openBlasOnOpenMp = '/usr/lib/x86_64-linux-gnu/openblas-openmp';

interface Script {
  readonly file: string;
  /** What it needs: a package of `peers/node_modules`, or a Python module. */
  readonly needs?: string;
  readonly args?: readonly string[];
  readonly env?: (place: Place) => Variables;
}

const nodePeer =
  ({ file, needs, args = [], env }: Script) =>
  (place: Place): Command | Missing =>
    needs === undefined || existsSync(join(place.root, 'peers', 'node_modules', needs))
      ? {
          program: process.execPath,
          args: [join('peers', file), ...args],
          env: { ...cleared, ...env?.(place) },
          cwd: place.root,
        }
      : { missing: `${needs} is not installed: npm run bench:setup` };

const pythonPeer =
  ({ file, needs = 'numpy', args = [], env }: Script) =>
  (place: Place): Command | Missing => {
    const program = place.pythonWith(needs);
    if (program === undefined) return { missing: `no python3 with ${needs}: on Debian, apt install python3-${needs}` };
    return {
      program,
      args: [join('peers', file), ...args],
      env: { ...cleared, ...leaveNoBytecode, ...openMpThreads(place), ...env?.(place) },
      cwd: place.root,
    };
  };

/** A program that `bench:setup` builds; `needs` is what that takes. */
const nativePeer =
  (name: string, needs: string) =>
  (place: Place): Command | Missing => {
    const program = join(place.root, 'dist', 'native', name);
    return existsSync(program)
      ? { program, args: [], env: { ...cleared, ...openMpThreads(place) }, cwd: place.root }
      : { missing: `not built: npm run bench:setup, which needs ${needs} (Debian's name)` };
  };

const torchTuning = ({ machine }: Place): Variables => ({
  ...keepBlocks,
  ...(machine.flags.includes('avx512f') ? { ATEN_CPU_CAPABILITY: 'avx512' } : {}),
});
const torchOnOpenMp = (place: Place): Variables => ({
  ...torchTuning(place),
  ...(existsSync(openBlasOnOpenMp) ? { LD_LIBRARY_PATH: openBlasOnOpenMp } : {}),
});
const torchPassive = (place: Place): Variables => ({ ...torchTuning(place), OMP_WAIT_POLICY: 'passive' });

/** Peers in the order of their columns. */
export const peers: readonly ContenderRow[] = [
  {
    name: 'kernels',
    doc: 'examples/kernels, written in the kernel language: no peer, but the other way into this compiler',
    command: (place) => ({
      program: process.execPath,
      args: [join('dist', 'kernels-contender.js')],
      env: cleared,
      cwd: place.root,
    }),
  },
  {
    name: 'native_cpp',
    doc: 'hand-fused C++ loops, g++ -Ofast -march=native -fopenmp: no peer, but what a fusing compiler can reach',
    command: nativePeer('native_cpp', 'g++'),
  },
  {
    name: 'ort',
    doc: 'onnxruntime-node, CPU provider, outputs preallocated',
    command: nodePeer({ file: 'ort.mjs', needs: 'onnxruntime-node', env: () => keepBlocks }),
  },
  {
    name: 'torch',
    doc: 'PyTorch eager, OpenBLAS on OpenMP',
    command: pythonPeer({ file: 'torch_peer.py', needs: 'torch', env: torchOnOpenMp }),
  },
  {
    name: 'torch_passive',
    doc: 'PyTorch eager, OpenBLAS on pthreads, OMP_WAIT_POLICY=passive',
    command: pythonPeer({ file: 'torch_peer.py', needs: 'torch', env: torchPassive }),
  },
  {
    name: 'torch_jit',
    doc: 'PyTorch, torch.jit.trace + freeze + optimize_for_inference',
    command: pythonPeer({ file: 'torch_peer.py', needs: 'torch', env: torchOnOpenMp, args: ['jit'] }),
  },
  { name: 'openblas', doc: 'OpenBLAS cblas_sgemm from C++', command: nativePeer('openblas', 'libopenblas-dev') },
  { name: 'onednn', doc: 'oneDNN from C++', command: nativePeer('onednn', 'libdnnl-dev') },
  {
    name: 'numpy',
    doc: 'NumPy, with SciPy for erf',
    command: pythonPeer({ file: 'numpy_peer.py', env: () => keepBlocks }),
  },
  {
    name: 'tfjs',
    doc: 'tfjs-backend-wasm, SIMD, one thread (it has no more under Node)',
    command: nodePeer({ file: 'tfjs.mjs', needs: '@tensorflow/tfjs-backend-wasm' }),
  },
  {
    name: 'jax',
    doc: '@jax-js/jax, wasm, jit, one thread',
    command: nodePeer({ file: 'jax.mjs', needs: '@jax-js/jax' }),
  },
  {
    name: 'jax_2t',
    doc: '@jax-js/jax with a Worker shim, so that its thread pool runs',
    command: nodePeer({ file: 'jax.mjs', needs: '@jax-js/jax', args: ['workers'] }),
  },
  { name: 'js', doc: 'plain JavaScript loops over Float32Array', command: nodePeer({ file: 'js.mjs' }) },
];

/** Peers on the same CUDA device. */
export const cudaPeers: readonly ContenderRow[] = [
  {
    name: 'torch_cuda',
    doc: 'PyTorch eager on the device',
    command: pythonPeer({ file: 'torch_peer.py', needs: 'torch', args: ['cuda'] }),
  },
  {
    name: 'torch_compile',
    doc: 'PyTorch, torch.compile with its default settings, on the device',
    command: pythonPeer({ file: 'torch_peer.py', needs: 'torch', args: ['cuda', 'compile'] }),
  },
  {
    name: 'triton',
    doc: 'hand-written Triton kernels, outputs preallocated',
    command: pythonPeer({ file: 'triton_peer.py', needs: 'triton' }),
  },
];

/** Our own contender, with a cache directory of its own, so that cold and warm starts can be told apart. */
export const ourCommand = (place: Place, cacheDirectory: string, use: ResultUse = 'dropped'): Command => ({
  program: process.execPath,
  args: [join('dist', 'tsinductor-contender.js'), place.device, use],
  env: { ...cleared, TORCHINDUCTOR_CACHE_DIR: cacheDirectory },
  cwd: place.root,
});

/** Both ways of using results, as users mostly do first. */
export const ourRows: readonly ContenderRow[] = [
  { name: ours, doc: 'this project, results dropped', command: (place) => ourCommand(place, '') },
  {
    name: oursDisposed,
    doc: 'this project, every result disposed before the next call',
    command: (place) => ourCommand(place, '', 'disposed'),
  },
];

export const limitsCommand = (place: Place): Command | Missing =>
  place.device === 'cpu'
    ? nativePeer('limits', 'g++')(place)
    : { program: process.execPath, args: [join('dist', 'cuda-limits.js')], cwd: place.root };

/** The first of the usual interpreters that imports a module. */
export function findPython(module: string): string | undefined {
  return ['python3', '/usr/bin/python3'].find(
    (program) => spawnSync(program, ['-c', `import ${module}`], { stdio: 'ignore' }).status === 0,
  );
}
