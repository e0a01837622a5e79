// What goes wrong around a compiled function: the toolchain, the cache, and values that are none. Each is a coded error or
// a fallback that is reported, and never a wrong result.
import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { arange, compile, full, matmul, reset, setConfig, tensor, zeros } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import {
  compiledWith,
  forGraphs,
  freshDirectory,
  temporaryTop,
  warningsOf,
  wrappedCompiler,
} from '../settings/effect.ts';

afterAll(() => {
  reset();
  rmSync(temporaryTop, { recursive: true, force: true });
});

const addOne = (x: Tensor): Tensor => x.add(1);
const codeOf = (run: () => unknown): string => {
  try {
    run();
  } catch (error) {
    return String((error as { code?: unknown }).code);
  }
  return 'no error';
};

describe('a compiler that', () => {
  const withCompiler = (command: string): string =>
    codeOf(() =>
      compiledWith(addOne, {
        cacheDir: freshDirectory(),
        compileTimeout: 5,
        cpp: { cxx: [wrappedCompiler(forGraphs(command))] },
      })(zeros([2])),
    );

  test.each([
    ['crashes', 'kill -SEGV $$', 'COMPILER_CRASHED'],
    ['hangs', 'exec sleep 60', 'COMPILE_TIMEOUT'],
    ['prints garbage and makes nothing', 'head -c 100000 /dev/urandom >&2; exit 0', 'OUTPUT_MISSING'],
    ['makes garbage', 'for out; do :; done; head -c 5000 /dev/urandom > "$out"; exit 0', 'OUTPUT_DAMAGED'],
    ['refuses', 'echo "what is this?" >&2; exit 1', 'COMPILER_FAILED'],
  ])('%s', (_what, command, code) => {
    expect(withCompiler(command)).toBe(code);
  });
});

describe('the cache', () => {
  test('in a place where nothing can be written is replaced by a private one, with a report', () => {
    const reports = warningsOf(() => {
      expect(compiledWith(addOne, { cacheDir: '/proc/tsinductor' })(full([2], 1)).toArray()).toEqual([2, 2]);
    });
    expect(reports).toEqual(['CACHE_FALLBACK']);
  });

  test('with a flipped bit in a library is a miss, with a report, and the library is built again', () => {
    const cacheDir = freshDirectory();
    setConfig({ cacheDir });
    expect(compile(addOne)(full([3], 1)).toArray()).toEqual([2, 2, 2]);
    reset();
    const key = readdirSync(join(cacheDir, 'fx')).find((name) => !name.startsWith('.')) ?? '';
    const library = join(cacheDir, 'fx', key, 'graph.so');
    const bytes = readFileSync(library);
    bytes.writeUInt8(bytes.readUInt8(bytes.length >> 1) ^ 4, bytes.length >> 1);
    // A new file: the old one is mapped into this process, which must not see its code change.
    rmSync(library);
    writeFileSync(library, bytes, { mode: 0o600 });
    const again = compile(addOne);
    const reports = warningsOf(() => {
      expect(again(full([3], 1)).toArray()).toEqual([2, 2, 2]);
    });
    expect(reports).toEqual(['CACHE_DAMAGED']);
    expect(again.graphs()[0]?.origin).toBe('built');
    reset();
  });
});

describe('values that are none', () => {
  test('where a tensor is required', () => {
    expect(codeOf(() => matmul(full([2], 1), 3 as never))).toMatch(/^(NOT_A_TENSOR|ARGUMENT_TYPE)$/);
    const compiled = compiledWith((x: Tensor) => matmul(x, 'text' as never), {});
    expect(codeOf(() => compiled(full([2], 1)))).toMatch(/^(NOT_A_TENSOR|ARGUMENT_TYPE)$/);
  });

  test('as data: holes, foreign arrays, memory that is gone', () => {
    // eslint-disable-next-line no-sparse-arrays -- what is tested
    expect(codeOf(() => tensor([1, , 3] as number[]))).toBe('SPARSE_ARRAY');
    expect(codeOf(() => tensor(new BigUint64Array(2) as never))).toBe('ARRAY_TYPE');
    const gone = new Float32Array(4);
    structuredClone(gone, { transfer: [gone.buffer] });
    expect(codeOf(() => tensor(gone))).toBe('BUFFER_DETACHED');
  });

  test('as sizes: beyond 2^53, negative, fractions', () => {
    for (const size of [2 ** 53, Infinity, -1, 1.5, Number.NaN])
      expect(codeOf(() => zeros([size]))).toMatch(/^(INVALID_SHAPE|SIZE_OVERFLOW|ARGUMENT_TYPE|ARGUMENT_VALUE)$/);
    expect(codeOf(() => zeros([2 ** 30, 2 ** 30]))).toMatch(/^(INVALID_SHAPE|SIZE_OVERFLOW|OUT_OF_MEMORY)$/);
    expect(codeOf(() => arange(6).reshape([2 ** 52, 3]))).toMatch(/^(SHAPE_MISMATCH|SIZE_OVERFLOW)$/);
  });
});
