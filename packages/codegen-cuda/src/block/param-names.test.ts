// Users' names in generated text: short, of any language's letters, and such as no compiler, header or prelude has.
import { execFileSync } from 'node:child_process';
import { expect, test } from '@jest/globals';
import { kernelName, localName, paramName } from '@tsinductor/codegen';
import type { BlockParam } from '@tsinductor/ir';
import { hasCompiler } from '@tsinductor/testing/loops';
import { cudaEmulationHeader } from '@tsinductor/runtime';
import { cudaDialect } from '../cuda-dialect.ts';

const given = [
  'x',
  'blockSize',
  'BLOCK_M',
  '__asm__',
  '$',
  'a$b',
  'é',
  '变量',
  'linux',
  'f32x16',
  'constructor',
  'x'.repeat(10_000),
];
const params = given.map((name): BlockParam => ({ name, kind: 'buffer', dtype: 'f32', divisor: 1 }));

test('users names are words of any language', () => {
  const names = given.flatMap((name, position) => [
    paramName({ params }, position),
    localName(name),
    kernelName({ name }),
  ]);
  for (const name of names) expect(name).toMatch(/^[a-z]([a-z0-9]|_(?!_))*[a-z0-9]$/);
  expect(Math.max(...names.map(({ length }) => length))).toBeLessThan(50);
  expect(names.slice(3, 9)).toEqual([
    'ptr1_block_size',
    'v_block_size',
    'kernel_block_size',
    'ptr2_block_m',
    'v_block_m',
    'kernel_block_m',
  ]);
});

test('parameters that only capitals or signs tell apart have names of their own', () => {
  const alike = ['aB', 'a_b', 'A_B', 'a$b', 'a_b_', '$', '_'];
  const program = { params: alike.map((name): BlockParam => ({ name, kind: 'scalar', dtype: 'i32', divisor: 1 })) };
  expect(new Set(alike.map((_, position) => paramName(program, position))).size).toBe(alike.length);
});

/** How every name of a user's begins. */
const beginning = /^(?:v|ptr\d+|arg\d+)_/;

test('no word that is kept begins like a name of a users', () => {
  expect([...cudaDialect.reserved].filter((word) => beginning.test(word))).toEqual([]);
  for (const name of given) expect(localName(name)).toMatch(beginning);
});

const testCompiler = hasCompiler() ? test : test.skip;

testCompiler('no name of the compiler, its headers or the emulation begins so', () => {
  const source = `#include <immintrin.h>\n#include <unistd.h>\n#include <math.h>\n${cudaEmulationHeader()}`;
  const text = execFileSync('g++', ['-E', '-dD', '-x', 'c++', '-'], { input: source, maxBuffer: 2 ** 28 }).toString();
  const names = new Set(text.match(/[A-Za-z_]\w*/g));
  expect(names.has('printf')).toBe(true);
  expect([...names].filter((name) => beginning.test(name))).toEqual([]);
});
