// `tsinductor build` on small projects in a temporary directory. What reads projects runs here; what compiles is the command as it is
// built, because it loads modules with Node's own loader, which jest replaces.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { spawn, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { runCli } from '@tsinductor/cli';

const repository = join(import.meta.dirname, '../..');
const bin = join(repository, 'packages/tsinductor/lib/cli/tsinductor.js');

let directory = '';
let made = 0;
beforeAll(() => {
  directory = realpathSync(mkdtempSync(join(tmpdir(), 'tsinductor-build-')));
});
afterAll(() => {
  rmSync(directory, { recursive: true, force: true });
});

/** A project with these files under `src`. */
function projectOf(files: Readonly<Record<string, string>>): string {
  const root = join(directory, String(made++));
  mkdirSync(join(root, 'node_modules'), { recursive: true });
  symlinkSync(join(repository, 'packages/tsinductor'), join(root, 'node_modules/tsinductor'));
  symlinkSync(join(repository, 'node_modules/@types'), join(root, 'node_modules/@types'));
  const compilerOptions = { target: 'ES2022', module: 'NodeNext', strict: true, skipLibCheck: true, types: ['node'] };
  const all = {
    'tsconfig.json': JSON.stringify({ compilerOptions, include: ['src'] }),
    'package.json': '{ "type": "module", "name": "stranger" }',
    ...Object.fromEntries(Object.entries(files).map(([name, text]) => [`src/${name}`, text])),
  };
  for (const [name, text] of Object.entries(all)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  return root;
}

/** A file has its new text at once, as no build may see half of it. */
function replaceFile(path: string, text: string): void {
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
}

interface Place {
  readonly file: string;
  readonly line: number;
}

/** What `--json` says. */
interface Found {
  readonly sites: readonly (Place & { readonly kind: string; readonly name: string; readonly hasExamples: boolean })[];
  readonly diagnostics: readonly (Place & {
    readonly column: number;
    readonly code: string;
    readonly message: string;
  })[];
  readonly error?: { readonly code: string };
}

async function check(project: string): Promise<Found> {
  let out = '';
  const streams = { out: (text: string) => (out += text), error: () => undefined, color: false };
  await runCli(['build', project, '--check', '--json'], { streams, env: {} });
  return JSON.parse(out) as Found;
}

/** Cases are directories of one project, which is read once. */
const cases = new Map<string, Readonly<Record<string, string>>>();
let checked: Promise<Found> | undefined;
let checkedRoot = '';

function checkAll(): Promise<Found> {
  checkedRoot = projectOf(
    Object.fromEntries(
      [...cases].flatMap(([name, files]) =>
        Object.entries(files).map(([file, text]): [string, string] => [`${name}/${file}`, text]),
      ),
    ),
  );
  return check(checkedRoot);
}

/** A test of what is found wrong in these files, as it is printed. */
function finds(title: string, files: Readonly<Record<string, string>>, expected: readonly unknown[]): void {
  const name = `case${String(cases.size)}`;
  cases.set(name, files);
  test(title, async () => {
    const { diagnostics } = await (checked ??= checkAll());
    const place = join(checkedRoot, 'src', name);
    const own = diagnostics.filter(({ file }) => file.startsWith(`${place}/`));
    expect(
      own.map(
        ({ file, line, column, code, message }) =>
          `${file.slice(place.length + 1)}(${String(line)},${String(column)}): error ${code}: ${message}`,
      ),
    ).toEqual(expected);
  });
}

/** The place and the code alone matter. */
const at = (place: string): unknown => expect.stringMatching(new RegExp(`^${place.replace(/[.()]/g, '\\$&')}: `));

const head = `import { compile } from 'tsinductor';\nimport type { Tensor } from 'tsinductor';\n`;

describe('what is found', () => {
  test('functions, methods and kernels by whatever name they are imported', async () => {
    const root = projectOf({
      'mine.ts': `export { compile as jit } from 'tsinductor';\nexport * as all from 'tsinductor';\n`,
      'model.ts': `
import type { Tensor } from 'tsinductor';
import { kernel as define, ptr } from 'tsinductor/dsl';
import { all, jit } from './mine.js';
import { compile as other } from './other.js';
const again = jit;
export const first = jit((x: Tensor) => x.neg(), { examples: () => [] });
export const second = all.compile(function named(x: Tensor) { return x.neg(); });
export const third = again((x: Tensor) => x.neg(), { name: 'labelled' });
export const not = other((x: Tensor) => x.neg());
export class Model {
  @jit forward(x: Tensor): Tensor { return x.neg(); }
  @jit({ fullgraph: true }) backward(x: Tensor): Tensor { return x.neg(); }
}
export const copy = define('copy', { x: ptr('f32'), out: ptr('f32') }, ({ x, out }, tl) => tl.store(out, tl.load(x)));
`,
      'other.ts': 'export const compile = <F>(fn: F): F => fn;\n',
    });
    const { sites, diagnostics } = await check(root);
    expect(diagnostics).toEqual([]);
    expect(sites.map(({ kind, name, line, hasExamples }) => [kind, name, line, hasExamples])).toEqual([
      ['compile', 'first', 7, true],
      ['compile', 'named', 8, false],
      ['compile', 'labelled', 9, false],
      ['compile', 'forward', 12, false],
      ['compile', 'backward', 13, false],
      ['kernel', 'copy', 15, false],
    ]);
  });
});

describe('what capture could never do right', () => {
  finds(
    'async functions and generators',
    {
      'a.ts': `${head}
const later = async (x: Tensor): Promise<Tensor> => x.neg();
// @ts-expect-error -- the types refuse it too
export const a = compile(later);
// @ts-expect-error -- the types refuse it too
export const b = compile(function* (x: Tensor) { yield x.neg(); });
declare const given: (x: Tensor) => Promise<Tensor>;
export const c = compile(given as never as (x: Tensor) => Promise<Tensor>);
export class Model {
  // @ts-expect-error -- the types refuse it too
  @compile async forward(x: Tensor) { return x.neg(); }
}
`,
    },
    [
      at('a.ts(6,18): error TSI1001'),
      at('a.ts(8,18): error TSI1002'),
      at('a.ts(10,26): error TSI1001'),
      at('a.ts(13,3): error TSI1001'),
    ],
  );

  finds(
    'variables that are assigned again, in this module or another, and in functions that are called',
    {
      'a.ts': `${head}
import { shared } from './state.js';
let scale = 1;
let fixed = 2;
let guarded = 3;
export const setScale = (to: number): void => { scale = to; guarded = to; };
const helper = (x: Tensor): Tensor => x.mul(scale);
export const a = compile((x: Tensor) => helper(x).add(fixed));
export const b = compile((x: Tensor) => { let own = 1; own += 1; return x.mul(own).add(shared); });
export const c = compile((x: Tensor) => x.mul(guarded), { captures: () => ({ guarded }) });
export const d = (factor: number) => { factor *= 2; return compile((x: Tensor) => x.mul(factor)); };
`,
      'state.ts': 'export let shared = 1;\nexport const change = (): void => { [shared] = [2]; };\n',
    },
    [
      'a.ts(9,45): error TSI1003: a reads scale, which is assigned again at a.ts:8: what is compiled keeps the value of its trace; pass it as an argument, or guard it with captures: () => ({ scale })',
      expect.stringMatching(/^a\.ts\(11,88\): error TSI1003: b reads shared, which is assigned again at state\.ts:2/),
      expect.stringMatching(/^a\.ts\(13,89\): error TSI1003: a function reads factor/),
    ],
  );

  finds(
    'assignments to variables around it',
    {
      'a.ts': `${head}
let count = 0;
export const a = compile((x: Tensor) => { count++; return x.neg(); });
export const b = compile((x: Tensor) => { const list = [1]; for (const one of list) ({ count } = { count: one }); return x; });
`,
    },
    [at('a.ts(5,43): error TSI1004'), at('a.ts(6,88): error TSI1004')],
  );

  finds(
    'what is different each time',
    {
      'a.ts': `${head}
import { randomUUID } from 'node:crypto';
const mine = { random: () => 4, Date: 1 };
export const a = compile((x: Tensor) => x.mul(Math.random()));
export const b = compile((x: Tensor) => x.mul(Date.now() + new Date().getTime() + new Date(0).getTime()));
export const c = compile((x: Tensor) => (process.env.FAST === '1' ? x : x.neg()));
export const d = compile((x: Tensor) => { const Math = mine; return x.mul(Math.random() + globalThis.Math.PI); });
export const e = compile((x: Tensor) => x.mul(randomUUID().length));
`,
    },
    [
      at('a.ts(6,47): error TSI1005'),
      at('a.ts(7,47): error TSI1005'),
      at('a.ts(7,60): error TSI1005'),
      at('a.ts(8,42): error TSI1005'),
      at('a.ts(10,47): error TSI1005'),
    ],
  );

  finds(
    'a line before says what is meant',
    {
      'a.ts': `${head}
let scale = 1;
scale = 2; // before anything is called
// tsinductor-ignore TSI1003: it is assigned once, above
export const a = compile((x: Tensor) => x.mul(scale));
// tsinductor-ignore TSI1004
export const b = compile((x: Tensor) => x.mul(scale));
`,
    },
    [at('a.ts(9,47): error TSI1003')],
  );
});

describe('kernels', () => {
  finds(
    'are checked at the types of their schema, at the lines of TypeScript',
    {
      'a.ts': `
import { constexpr, f32, i32, kernel, ptr } from 'tsinductor/dsl';
export const good = kernel('good', { x: ptr(f32), out: ptr(f32), n: i32, BLOCK: constexpr }, ({ x, out, n, BLOCK }, tl): void => {
  const offs: number = (tl.programId(0) * BLOCK + tl.arange(0, BLOCK)) as number;
  const mask = offs < n;
  tl.store(out + offs, tl.load(x + offs!, mask), mask);
});
export const misspelt = kernel('misspelt', { x: ptr(f32), out: ptr(f32) }, ({ x, out }, tl) => {
  const value: number = tl.load(x);
  tl.store(out, value + missing);
});
export function body({ x, out, BLOCK }: Record<'x' | 'out' | 'BLOCK', number>, tl: any): void {
  const offs = tl.arange(0, BLOCK);
  tl.store(out + offs, tl.load(x + tl.arange(0, 2 * BLOCK)));
}
export const shapes = kernel('shapes', { x: ptr(), out: ptr(), BLOCK: constexpr }, body);
shapes.launch([1], { BLOCK: 128 } as never);
`,
    },
    [
      expect.stringMatching(/^a\.ts\(10,25\): error TSI2001: KERNEL_NAME: .*missing/),
      expect.stringMatching(/^a\.ts\(14,\d+\): error TSI2001: KERNEL_SHAPE: /),
    ],
  );
});

describe('the command', () => {
  const model = `${head}
import { randn } from 'tsinductor';
// As a server would, this keeps a process.
export const beat = setInterval(() => undefined, 1000);
export const mlp = compile((x: Tensor, w: Tensor) => x.matmul(w).gelu(), {
  name: 'mlp',
  examples: () => [[randn([4, 8]), randn([8, 16])]],
});
export const broken = compile((x: Tensor) => (x.sum().item() === 0 ? x : x.neg()), { name: 'broken', examples: () => [[randn([3])]] });
`;
  const run = (
    root: string,
    args: readonly string[],
  ): { readonly status: number | null; readonly out: string; readonly error: string } => {
    const env = { PATH: '/usr/bin:/bin', TORCHINDUCTOR_CACHE_DIR: join(root, 'cache') };
    const { status, stdout, stderr } = spawnSync(process.execPath, [bin, 'build', ...args], {
      cwd: root,
      env,
      encoding: 'utf8',
    });
    return { status, out: stdout, error: stderr };
  };

  test('compiles declared examples into a bundle that runs without a compiler; a second run does nothing', () => {
    const root = projectOf({ 'model.ts': model });
    const first = run(root, []);
    expect(first).toMatchObject({
      status: 0,
      out: expect.stringMatching(/^2 compiled functions and 0 kernels; tsinductor\.bundle: 2 functions, /),
    });
    expect(first.error.split('\n').filter((line) => /^\[\d\/2\] /.test(line))).toHaveLength(2);
    const again = JSON.parse(run(root, ['--json']).out) as Readonly<Record<string, unknown>>;
    expect(again).toMatchObject({
      isUpToDate: true,
      functions: [
        { name: 'mlp', graphs: 1 },
        { name: 'broken', graphs: 2 },
      ],
    });

    writeFileSync(join(root, 'yarn.lock'), 'another version');
    expect(JSON.parse(run(root, ['--json']).out)).toMatchObject({ isUpToDate: false });

    writeFileSync(
      join(root, 'serve.mjs'),
      `
import { readFileSync } from 'node:fs';
import { loadCacheArtifacts, randn } from 'tsinductor';
loadCacheArtifacts(readFileSync('tsinductor.bundle'));
const { mlp, broken, beat } = await import('./model.mjs');
clearInterval(beat);
mlp(randn([4, 8]), randn([8, 16]));
broken(randn([3]));
console.log(JSON.stringify([...mlp.graphs(), ...broken.graphs()].map(({ runsOn, origin }) => [runsOn, origin])));
`,
    );
    writeFileSync(join(root, 'model.mjs'), model.replace(/import type .*\n/, '').replaceAll(/: Tensor/g, ''));
    const env = { PATH: '/nowhere', TORCHINDUCTOR_CACHE_DIR: join(root, 'other-cache') };
    const served = spawnSync(process.execPath, ['serve.mjs'], { cwd: root, env, encoding: 'utf8' });
    expect({ ...served, stdout: served.stdout.replaceAll(/native code for [^"]*/g, 'native') }).toMatchObject({
      stderr: '',
      stdout: `${JSON.stringify([
        ['native', 'disk'],
        ['native', 'disk'],
        ['native', 'disk'],
      ])}\n`,
    });
  });

  test('says at their lines which examples failed, and leaves no bundle', () => {
    const root = projectOf({
      'model.ts': `${head}
import { randn } from 'tsinductor';
export const wrong = compile((x: Tensor) => x.matmul(x), { examples: () => [[randn([3, 4])]] });
export const inner = () => compile((x: Tensor) => x.neg(), { examples: () => [[randn([3])]] });
`,
    });
    const { status, out } = run(root, []);
    expect(status).toBe(1);
    expect(out.split('\n')).toEqual([
      expect.stringMatching(/^src\/model\.ts\(5,22\): error TSI3002: wrong cannot be compiled: matmul/),
      expect.stringMatching(/^src\/model\.ts\(6,28\): error TSI3003: /),
      '2 errors',
      '',
    ]);
    expect(existsSync(join(root, 'tsinductor.bundle'))).toBe(false);
  });

  test('watches', async () => {
    const root = projectOf({ 'model.ts': `${head}export const a = compile((x: Tensor) => x.neg());\n` });
    const child = spawn(process.execPath, [bin, 'build', '--check', '--watch'], { cwd: root });
    let [out, waits] = ['', 0];
    child.stdout.on('data', (text: Buffer) => (out += text.toString()));
    child.stderr.on('data', (text: Buffer) => {
      waits += text.toString().split('waiting for changes').length - 1;
      // Changed once it watches; ended once it has seen that.
      if (waits === 1) replaceFile(join(root, 'src/model.ts'), `${head}export const a = compile(async () => 1);\n`);
      if (waits === 2) child.kill();
    });
    await new Promise((done) => child.on('exit', done));
    expect(out).toMatch(
      /^1 compiled function and 0 kernels: no errors\nsrc\/model\.ts\(3,18\): error TSI1001: .*\n1 error\n$/,
    );
  });

  test('a project that is none is an error; the command loads ts-morph only where it is asked for', async () => {
    expect((await check(join(directory, 'none'))).error?.code).toBe('CLI_PROJECT');
    expect(readFileSync(bin, 'utf8')).not.toMatch(/from ?"ts-morph"|require\("ts-morph"\)/);
  });
});
