// The flags that C++ is compiled with, in one table. They are part of the semantics: no fast-math flag may ever appear,
// neither here nor at the link, where it would switch the whole process to flush-to-zero.
import type { CompilerFamily } from './toolchain.ts';

/** The architectures for which `-march=native` means the machine at hand; elsewhere the compiler's default is taken. */
const nativeFlags: Readonly<Partial<Record<NodeJS.Architecture, readonly string[]>>> = {
  x64: ['-march=native'],
  arm64: ['-mcpu=native'],
};

/** How generated text reaches the compiler: on standard input. */
export const sourceOnInput: readonly string[] = ['-x', 'c++', '-'];

const shared: readonly string[] = [
  '-O2',
  '-std=c++17',
  '-fPIC',
  '-fno-math-errno', // sqrt as an instruction; results stay IEEE
  '-ffp-contract=off', // an FMA only where the program says so
  '-fno-exceptions',
  '-fno-rtti',
  '-fwrapv', // integers wrap
  '-fno-strict-aliasing', // one workspace holds buffers of several dtypes
  '-w',
];

const ofFamily: Readonly<Record<CompilerFamily, readonly string[]>> = {
  gcc: [
    '-Wno-psabi',
    '-fschedule-insns', // mixes independent chains of instructions before registers are given: a fifth less time for a GELU,
    '-fsched-pressure', // with an eye on the registers, which products of matrices fill: they lose 8 % without it, and gain 5 %
    '-fno-tree-slp-vectorize', // lanes are vectors already, and GCC 12 makes -1 of `r[lane] = x[lane] != 0` in vectors of two
  ],
  clang: [],
};

/** Flags that decide the code of generated units; they belong in cache keys. */
export const codeFlags = (family: CompilerFamily): readonly string[] => [
  ...shared,
  ...ofFamily[family],
  ...(nativeFlags[process.arch] ?? []),
];

/** Flags that make a shared object without start-up code or standard libraries. */
export const linkFlags: readonly string[] = ['-shared', '-nostdlib'];

/** Flags of the native bridge, which runs on any CPU of the architecture and stays loaded until the process ends. */
export const bridgeFlags: readonly string[] = [
  '-O2',
  '-std=c++17',
  '-shared',
  '-fPIC',
  '-fno-exceptions',
  '-fno-rtti',
  '-ffp-contract=off',
  '-fvisibility=hidden',
  '-pthread',
  '-Wl,-z,nodelete',
  '-Wl,-z,now',
];
