// tl.devicePrint: the interpreter, C++ and emulated CUDA print the same lines, in the order of program instances; whatever
// stands in a prefix, it is text. C++ and emulated CUDA format with the C library, so numbers are held against it.
import { afterAll, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compile, fromBuffer, reset, setConfig, tensor, zeros } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { constexpr, f32, i32, kernel, ptr } from 'tsinductor/dsl';
import type { LaunchOptions } from 'tsinductor/dsl';

const cacheDir = mkdtempSync(join(tmpdir(), 'tsinductor-print-'));
setConfig({ cacheDir });
afterAll(() => {
  reset();
  rmSync(cacheDir, { recursive: true, force: true });
});

const containing = (text: string): unknown => expect.stringContaining(text);

const backends = ['interpreter', 'cpp', 'cuda-emulated'] as const;

/** What a launch prints on each executor. */
const linesOf = (launch: (options: LaunchOptions) => void): readonly (readonly string[])[] =>
  backends.map((backend) => {
    const lines: string[] = [];
    launch({ backend, print: (line) => lines.push(line) });
    return lines;
  });

/** The lines, which are those of every executor. */
function sameLines(launch: (options: LaunchOptions) => void): readonly string[] {
  const [interpreted = [], ...others] = linesOf(launch);
  for (const lines of others) expect(lines).toEqual(interpreted);
  return interpreted;
}

const inspectable = kernel(
  'printing',
  { x: ptr(f32), out: ptr(f32), n: i32, ROWS: constexpr },
  ({ x, out, n, ROWS }, tl) => {
    const pid = tl.programId(0);
    const rows = tl.expandDims(tl.arange(0, ROWS), 1);
    const columns = tl.expandDims(tl.arange(0, 2), 0);
    const offs = pid * ROWS * 2 + rows * 2 + columns;
    const values = tl.load(x + offs, offs < n, -0.5);
    if (pid > 0) tl.devicePrint('later');
    for (const turn of tl.range(0, pid + 1)) tl.devicePrint('turn ', turn);
    tl.devicePrint('values ', values * 2, offs < n);
    tl.store(out + offs, values, offs < n);
  },
);

test('a line for each element: loops, branches, several values, instances in their order', () => {
  const [x, out] = [tensor([1, 0.1, -3, 1e10, NaN], { dtype: 'f32' }), zeros([5])];
  const lines = sameLines((options) => {
    inspectable.launch([2], { x, out, n: 5, ROWS: 2 }, options);
  });
  expect(lines.join('\n')).toMatchInlineSnapshot(`
   "pid (0, 0, 0) idx () turn 0
   pid (0, 0, 0) idx (0, 0) values (operand 0) 2
   pid (0, 0, 0) idx (0, 1) values (operand 0) 0.200000003
   pid (0, 0, 0) idx (1, 0) values (operand 0) -6
   pid (0, 0, 0) idx (1, 1) values (operand 0) 2e+10
   pid (0, 0, 0) idx (0, 0) values (operand 1) 1
   pid (0, 0, 0) idx (0, 1) values (operand 1) 1
   pid (0, 0, 0) idx (1, 0) values (operand 1) 1
   pid (0, 0, 0) idx (1, 1) values (operand 1) 1
   pid (1, 0, 0) idx () later
   pid (1, 0, 0) idx () turn 0
   pid (1, 0, 0) idx () turn 1
   pid (1, 0, 0) idx (0, 0) values (operand 0) nan
   pid (1, 0, 0) idx (0, 1) values (operand 0) -1
   pid (1, 0, 0) idx (1, 0) values (operand 0) -1
   pid (1, 0, 0) idx (1, 1) values (operand 0) -1
   pid (1, 0, 0) idx (0, 0) values (operand 1) 1
   pid (1, 0, 0) idx (0, 1) values (operand 1) 0
   pid (1, 0, 0) idx (1, 0) values (operand 1) 0
   pid (1, 0, 0) idx (1, 1) values (operand 1) 0"
  `);
  expect((out.toArray() as number[]).slice(0, 4)).toEqual((x.toArray() as number[]).slice(0, 4));
  expect(inspectable.inspect({ x, out, n: 5, ROWS: 2 })).toMatchObject({
    runsOn: containing('native code'),
    cuda: { kind: 'source', source: containing('printf("pid (') },
  });
});

const grid3 = kernel('grid3', { n: i32 }, ({ n }, tl) => {
  const [a, b, c] = [tl.programId(0), tl.programId(1), tl.programId(2)];
  if ((a + b + c) % 2 === 0) tl.devicePrint('n ', n + a * 100 + b * 10 + c);
});

test('a grid that threads share prints in the order of its programs', () => {
  const lines = sameLines((options) => {
    grid3.launch([5, 3, 7], { n: 1000 }, options);
  });
  const expected = Array.from({ length: 105 }, (_, unit) => [unit % 5, Math.floor(unit / 5) % 3, Math.floor(unit / 15)])
    .filter(([a = 0, b = 0, c = 0]) => (a + b + c) % 2 === 0)
    .map(([a = 0, b = 0, c = 0]) => `pid (${[a, b, c].join(', ')}) idx () n ${String(1000 + a * 100 + b * 10 + c)}`);
  expect(lines).toEqual(expected);
});

const plain = kernel('plain', { x: ptr(), BLOCK: constexpr }, ({ x, BLOCK }, tl) => {
  tl.devicePrint('', tl.load(x + tl.arange(0, BLOCK)));
});

/** Random bits, so that every kind of number is among them. */
function randomBits(bytes: number, seed: number): Uint8Array<ArrayBuffer> {
  let state = seed;
  return Uint8Array.from({ length: bytes }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state >>> 24;
  });
}

test.each(['f64', 'f32', 'f16', 'bf16', 'i64', 'i32', 'i16', 'i8', 'u8'] as const)(
  'numbers of any bits: %s',
  (dtype) => {
    for (const seed of [1, 2, 3]) {
      const x = fromBuffer(randomBits(64 * 8, seed).buffer, { dtype, shape: [64] });
      const lines = sameLines((options) => {
        plain.launch([1], { x, BLOCK: 64 }, options);
      });
      expect(lines).toHaveLength(64);
    }
  },
);

test('decimals that lie between two: ties go to the even digit', () => {
  const powers = Array.from({ length: 64 }, (_, power) => 2 ** -power * (power % 2 === 0 ? 1 : 3));
  for (const dtype of ['f32', 'f64'] as const) {
    const x = tensor(powers, { dtype });
    sameLines((options) => {
      plain.launch([1], { x, BLOCK: 64 }, options);
    });
  }
  const x = tensor([2 ** -13, -0, Infinity, -Infinity, 1e-5, 999999999.5, 123456789, 1e-45], { dtype: 'f64' });
  const lines = sameLines((options) => {
    plain.launch([1], { x: x.to('f32'), BLOCK: 8 }, options);
  });
  expect(lines.map((line) => line.replace(/.*\) /, ''))).toEqual([
    '0.000122070312',
    '-0',
    'inf',
    '-inf',
    '9.99999975e-06',
    '1e+09',
    '123456792',
    '1.40129846e-45',
  ]);
});

const quoted = '"); abort(); //';
const hostile = kernel('hostile', { n: i32 }, ({ n }, tl) => {
  tl.devicePrint('%s %n %d 100% ', n);
  tl.devicePrint('"); abort(); // */ \\', n);
  tl.devicePrint('??/ ??= two\nlines\r\t\u0001', n);
  tl.devicePrint('blocks thread program1 log status runtime ', n);
  tl.devicePrint('größer als 日本 😀 ', n);
});

test('a prefix is text: no code, no format, no line of its own', () => {
  const lines = sameLines((options) => {
    hostile.launch([1], { n: 7 }, options);
  });
  const head = 'pid (0, 0, 0) idx () ';
  expect(lines).toEqual([
    `${head}%s %n %d 100% 7`,
    `${head}${quoted} */ \\7`,
    `${head}??/ ??= two\nlines\r\t\u00017`,
    `${head}blocks thread program1 log status runtime 7`,
    `${head}größer als 日本 😀 7`,
  ]);
});

const named = kernel('named', { log: i32, printf: i32 }, ({ log, printf }, tl) => {
  const print_line = log + printf;
  tl.devicePrint('sum ', print_line);
});

test('names that generated code has for itself', () => {
  expect(
    sameLines((options) => {
      named.launch([1], { log: 40, printf: 2 }, options);
    }),
  ).toEqual(['pid (0, 0, 0) idx () sum 42']);
});

test('a NUL, half a character and options that are none are refused', () => {
  const nul = kernel('nul', { n: i32 }, ({ n }, tl) => {
    tl.devicePrint('a\0b', n);
  });
  const half = kernel('half', { n: i32 }, ({ n }, tl) => {
    tl.devicePrint('a\ud800', n);
  });
  for (const one of [nul, half])
    expect(() => {
      one.launch([1], { n: 1 });
    }).toThrow(expect.objectContaining({ code: 'KERNEL_ARGUMENT' }));
  expect(() => {
    grid3.launch([1], { n: 1 }, { print: 'loud' as never });
  }).toThrow(expect.objectContaining({ code: 'KERNEL_LAUNCH_OPTION' }));
});

test('a callback may launch the kernel again, and a thrown error loses no line of the next launch', () => {
  const lines: string[] = [];
  const launch = (n: number, print: (line: string) => void): void => {
    grid3.launch([1], { n }, { backend: 'cpp', print });
  };
  launch(1, (line) => {
    lines.push(line);
    launch(2, (inner) => lines.push(inner));
  });
  expect(() => {
    launch(3, () => {
      throw new RangeError('stop');
    });
  }).toThrow('stop');
  launch(4, (line) => lines.push(line));
  expect(lines.map((line) => line.slice(-3))).toEqual(['n 1', 'n 2', 'n 4']);
});

test('within a compiled function, and while configurations are measured', () => {
  const lines: string[] = [];
  const tuned = plain.autotune({ configs: [{ BLOCK: 2 }, { BLOCK: 4 }], key: [], bench: { warmup: 1, rep: 1 } });
  const print = (line: string): void => {
    lines.push(line);
  };
  const doubled = compile((x: Tensor) => {
    const y = x.mul(2);
    plain.launch([1], { x: y, BLOCK: 2 }, { print });
    return y.add(1);
  });
  expect(doubled(tensor([1, 2])).toArray()).toEqual([3, 5]);
  expect(lines).toEqual(['pid (0, 0, 0) idx (0) 2', 'pid (0, 0, 0) idx (1) 4']);
  lines.length = 0;
  tuned.launch([1], { x: tensor([1, 2, 3, 4]) }, { print });
  expect([2, 4]).toContain(lines.length);
});
