// How often the engine is asked for the text of a script, which takes seconds in a process with thousands of scripts.
import type * as Inspector from 'node:inspector';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import * as tensors from '@tsinductor/tensor';
import { findClosureReads } from './closure-reads.ts';
import { closureOf } from './inspected.ts';

let scale = 2;
const fixed = 3;
const grow = (): void => {
  scale += 1;
};

const sorted = (x: tensors.Tensor): tensors.Tensor => tensors.sort(x)[0];

let asked: string[] = [];
const { Session }: typeof Inspector = process.getBuiltinModule('node:inspector');
const { post } = Session.prototype;

beforeEach(() => {
  asked = [];
  Session.prototype.post = function (this: Inspector.Session, method: string, ...rest: unknown[]) {
    asked.push(method);
    Reflect.apply(post as (...args: unknown[]) => void, this, [method, ...rest]);
  };
});
afterEach(() => {
  Session.prototype.post = post;
});

const readsOf = (fn: object): readonly string[] =>
  findClosureReads(fn, { file: undefined, closure: closureOf(fn) ?? new Map() }).map(
    ({ name, line }) => `${name} ${String(line)}`,
  );
const timesAsked = (): number => asked.filter((method) => method === 'Debugger.enable').length;

describe('the text of a script', () => {
  test('is not asked for where nothing from around a function is used', () => {
    const scaled = (x: number): number => {
      const scale = x * 2;
      return scale + Date.now();
    };
    expect(readsOf((x: number) => x + 1)).toEqual([]);
    expect(readsOf(scaled)).toEqual(['Date.now() 3']);
    expect(timesAsked()).toBe(0);
  });

  test('is asked for once for all functions of a file', () => {
    grow();
    expect(readsOf((x: number) => x * scale)).toEqual(['scale 1']);
    expect(readsOf((x: number) => x * scale * fixed)).toEqual(['scale 1']);
    expect(timesAsked()).toBe(1);
  });
});

test('a function of a module that is called as arrays are changed does not change the module', () => {
  expect(sorted(tensors.tensor([2, 1])).toArray()).toEqual([1, 2]);
  expect(readsOf((x: tensors.Tensor) => tensors.exp(x))).toEqual([]);
});
