import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { compile, defaultSession } from '@tsinductor/compiler';
import type { CompiledFunction } from '@tsinductor/compiler';
import { zeros } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import { packBundle } from '@tsinductor/cache';
import { resolveConfig, settingNames } from '@tsinductor/config';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCli } from './cli.ts';
import { openGraphStore } from './cache/open-cache.ts';
import { formatBytes } from './table.ts';

let directory = '';
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tsinductor-cli-'));
});
afterAll(() => {
  rmSync(directory, { recursive: true, force: true });
});

// The command as it is built: it loads a module with Node's own loader, which jest replaces.
const bin = join(import.meta.dirname, '../../tsinductor/lib/cli/tsinductor.js');

interface Ran {
  readonly status: number;
  readonly out: string;
  readonly error: string;
}

async function run(args: readonly string[], variables: Readonly<Record<string, string>> = {}): Promise<Ran> {
  let [out, error] = ['', ''];
  const env = { TORCHINDUCTOR_CACHE_DIR: join(directory, 'cache'), PATH: '/usr/bin:/bin', ...variables };
  const streams = { out: (text: string) => (out += text), error: (text: string) => (error += text), color: false };
  const status = await runCli(args, { streams, env });
  return { status, out, error };
}

describe('config', () => {
  test('lists every setting with its value and source', async () => {
    const { status, out } = await run(['config', '--json'], { TORCHINDUCTOR_SIZE_ASSERTS: '0' });
    const { settings: rows, ...others } = JSON.parse(out) as Readonly<
      Record<string, readonly { readonly name: string; readonly value?: unknown; readonly source?: unknown }[]>
    >;
    expect(status).toBe(0);
    const namesOf = (kind: string): readonly string[] => (others[kind] ?? []).map(({ name }) => name);
    expect(Object.keys(others)).toEqual(['aliases', 'warnings', 'instead', 'waiting']);
    expect(namesOf('aliases')).toContain('NUM_BUILDERS');
    expect(namesOf('warnings')).toContain('group_fusion');
    expect(namesOf('instead')).toContain('cpp_wrapper');
    expect(namesOf('waiting')).toContain('triton.spill_threshold');
    expect((rows ?? []).map(({ name }) => name)).toEqual([...settingNames].sort());
    expect(rows?.find(({ name }) => name === 'sizeAsserts')).toMatchObject({
      value: false,
      source: { layer: 'environment', variable: 'TORCHINDUCTOR_SIZE_ASSERTS' },
    });
  });

  test('shows one setting with what it does, found by any of its names', async () => {
    for (const name of ['maxFusionSize', 'max_fusion_size']) {
      const { out } = await run(['config', name]);
      expect(out).toContain('Largest number of nodes in one fused kernel');
    }
    expect((await run(['config', 'size_asserts'])).out).toContain('TORCHINDUCTOR_SIZE_ASSERTS');
  });

  test('shows what becomes of every other name that is known', async () => {
    const said = async (name: string): Promise<string> => (await run(['config', name])).out;
    expect(await said('NUM_BUILDERS')).toMatch(/NUM_BUILDERS +sets compileThreads/);
    expect(await said('triton.multi_kernel')).toMatch(/not built yet[^]*_MULTI_KERNEL +it waits for tuning/);
    expect(await said('group_fusion')).toMatch(/without effect[^]*group_fusion +torch has/);
    expect(await said('cpp_wrapper')).toMatch(/no setting here[^]*There is no other wrapper/);
    expect(await said('torchLogs')).not.toContain('not built yet');
  });

  test('an unknown name and a bad variable are errors with a code', async () => {
    expect(await run(['config', 'nothing like it'])).toMatchObject({ status: 1, out: '' });
    const { status, error } = await run(['config'], { TORCHINDUCTOR_SIZE_ASSERTS: 'maybe' });
    expect(status).toBe(1);
    expect(error).toContain('ENVIRONMENT_VALUE: environment variable TORCHINDUCTOR_SIZE_ASSERTS is "maybe"');
    const json = await run(['config', '--json'], { TORCHINDUCTOR_SIZE_ASSERTS: 'maybe' });
    expect(JSON.parse(json.out)).toMatchObject({ error: { code: 'ENVIRONMENT_VALUE' } });
  });
});

describe('cache', () => {
  test('lists what is there, newest first, and clears it', async () => {
    const config = resolveConfig({ env: { TORCHINDUCTOR_CACHE_DIR: join(directory, 'cache') } });
    const key = 'ab'.repeat(32);
    {
      const warn = (message: string): never => {
        throw new RangeError(message);
      };
      using store = openGraphStore({ config, warn });
      store.put(key, { 'graph.cc': 'int main;' }, {} as Parameters<typeof store.put>[2]);
    }
    const listed = JSON.parse((await run(['cache', 'ls', '--json'])).out) as { entries: { key: string }[] };
    expect(listed.entries.map((entry) => entry.key)).toEqual([key]);
    expect((await run(['cache', 'ls'])).out).toContain('1 entry');
    expect((await run(['cache', 'clear'])).out).toContain('removed 1 entry');
    expect(JSON.parse((await run(['cache', 'ls', '--json'])).out)).toMatchObject({ entries: [], bytes: 0 });
  });

  test('import refuses what export has not written, and waits for nothing', async () => {
    const file = join(directory, 'hostile.bin');
    const machine = (text: string): Record<string, Uint8Array> => ({
      'machine.json': Buffer.from(text),
      'bridge.node': Buffer.from('none'),
    });
    const [key, other] = ['ab'.repeat(32), 'cd'.repeat(32)];
    const info = { inputs: {}, versions: {}, data: 'machine' };
    const entry = { key: other, info: { ...info, data: null }, files: { 'graph.cc': Buffer.from('') } };
    for (const text of [
      '{',
      'null',
      '{"report":{"toolchain":{"fingerprint":"../x"}},"isaReport":{},"bridge":"../x"}',
    ]) {
      writeFileSync(file, packBundle([], [entry, { key, info, files: machine(text) }]));
      expect((await run(['cache', 'import', file])).error).toContain('CACHE_BUNDLE');
      expect((await run(['cache', 'ls'])).out).toContain('0 entries');
    }
    const pipe = join(directory, 'pipe');
    execFileSync('mkfifo', [pipe]);
    for (const path of [pipe, directory, '/dev/zero', join(file, 'below')])
      expect((await run(['cache', 'import', path])).error).toContain('CLI_ARGUMENTS');
  });

  test('why takes a directory for a name, as a function may have it', async () => {
    expect((await run(['cache', 'why', directory])).error).toContain('CLI_CACHE_ENTRY');
  });

  test('export of nothing says so', async () => {
    expect((await run(['cache', 'export', join(directory, 'none')])).error).toContain('CLI_CACHE_EMPTY');
  });

  test('key makes a pair of files once', async () => {
    const file = join(directory, 'machine.pem');
    expect((await run(['cache', 'key', file])).out).toContain(`${file}.pub for remoteCacheTrust`);
    expect(existsSync(`${file}.pub`)).toBe(true);
    expect((await run(['cache', 'key', file])).error).toContain('REMOTE_KEY');
  });

  test('needs a command', async () => {
    const { status, error } = await run(['cache']);
    expect(status).toBe(1);
    expect(error).toContain('ls, stats, why, verify, gc, clear, export, import or key');
  });

  describe('of compiled functions', () => {
    const cacheDir = (): string => join(directory, 'compiled');
    const variables = (): Record<string, string> => ({ TORCHINDUCTOR_CACHE_DIR: cacheDir() });
    const onThis = (...args: readonly string[]): Promise<Ran> => run(['cache', ...args], variables());
    const compileWith = (options: Readonly<Record<string, unknown>>): CompiledFunction<(x: Tensor) => Tensor> => {
      const fn = compile(
        function shifted(x: Tensor) {
          return x.add(1);
        },
        { options: { cacheDir: cacheDir(), ...options } },
      );
      fn(zeros([3]));
      return fn;
    };
    const isNative = defaultSession().machine().kind === 'native';
    const testNative = isNative ? test : test.skip;
    if (!isNative) process.stderr.write('the cache of compiled functions skipped: no C++ compiler\n');

    testNative('why tells the fields that differ, each with both values', async () => {
      expect(compileWith({}).cacheInfo()).toMatchObject({ memory: 0, disk: 0, builds: 1, bypasses: {} });
      compileWith({ maxFusionSize: 3 });
      const { out } = await onThis('why', 'shifted');
      expect(out).toMatch(/shifted: built, for the cache had no older entry/);
      expect(out).toMatch(
        /shifted: built, for it differs from [0-9a-f]{16} shifted, built [^]* in\n {2}setting maxFusionSize\n {4}it was nothing\n {4}and is 3/,
      );
      expect((await onThis('why', 'nothing of that name')).error).toContain('CLI_CACHE_ENTRY');
      expect((await onThis('stats')).out).toMatch(
        /graphs and kernels +2 [^]*2 in use; bounds: 4.00 GiB, unused for 90 days/,
      );
    });

    testNative('verify puts damage away, and says so with its status', async () => {
      expect(await onThis('verify')).toMatchObject({
        status: 0,
        out: expect.stringMatching(/^2 entries and bridges whole, 0 not/),
      });
      const { entries } = JSON.parse((await onThis('ls', '--json')).out) as {
        entries: { key: string; name: string }[];
      };
      expect(entries.map(({ name }) => name)).toEqual(['shifted', 'shifted']);
      writeFileSync(join(cacheDir(), 'fx', entries[0]?.key ?? '', 'graph.cc'), 'other');
      expect(await onThis('verify')).toMatchObject({
        status: 1,
        out: expect.stringMatching(/^1 entry or bridge whole, 1 not\n.*put away: graph.cc/),
      });
      expect((await onThis('verify')).status).toBe(0);
    });

    testNative('export and import carry entries to another cache', async () => {
      const file = join(directory, 'carried.bin');
      expect((await onThis('export', file, '--key', 'no such')).error).toContain('CLI_CACHE_ENTRY');
      expect((await onThis('export', file)).out).toMatch(/^wrote 1 entry, .* to /);
      const elsewhere = { TORCHINDUCTOR_CACHE_DIR: join(directory, 'elsewhere') };
      expect((await run(['cache', 'import', file], elsewhere)).out).toMatch(/^put 1 entry into /);
      expect((await run(['cache', 'ls'], elsewhere)).out).toContain('shifted');
      writeFileSync(file, readFileSync(file).subarray(1));
      expect((await run(['cache', 'import', file], elsewhere)).error).toContain('CACHE_BUNDLE');
    });

    testNative('gc keeps what this process uses; clear --all leaves nothing', async () => {
      expect(await onThis('gc')).toMatchObject({ status: 0, out: expect.stringContaining('kept 1 entry') });
      expect((await onThis('clear', '--all')).out).toMatch(/removed 1 entry, .* and \d+ other thing/);
      expect(JSON.parse((await onThis('stats', '--json')).out)).toMatchObject({
        contents: { entries: { count: 0 }, bridges: { count: 0 }, machine: { count: 0 } },
      });
    });
  });
});

describe('worker', () => {
  test('says what it lacks: a key, a sensible number, a server', async () => {
    expect((await run(['worker'])).error).toContain('FARM_KEY');
    for (const count of ['0', '1.5', 'x']) {
      expect((await run(['worker', '--jobs', count])).error).toContain('CLI_ARGUMENTS');
      expect((await run(['worker', '--concurrency', count])).error).toContain('CLI_ARGUMENTS');
    }
    const key = join(directory, 'worker.pem');
    await run(['cache', 'key', key]);
    const away = {
      TSINDUCTOR_REMOTE_CACHE_KEY: key,
      TORCHINDUCTOR_REDIS_HOST: '127.0.0.1',
      TORCHINDUCTOR_REDIS_PORT: '1',
    };
    const { status, error } = await run(['worker'], away);
    expect([status, error]).toEqual([1, expect.stringContaining('REMOTE_CACHE_AWAY')]);
  });
});

describe('doctor', () => {
  test('says what is missing and how to get it where there is no compiler', async () => {
    const { status, out } = await run(['doctor', '--json'], { PATH: join(directory, 'nothing here') });
    const { native, findings } = JSON.parse(out) as {
      native: boolean;
      findings: { subject: string; verdict: string; remedy?: string }[];
    };
    expect({ status, native }).toEqual({ status: 1, native: false });
    const compiler = findings.find(({ subject }) => subject === 'C++ compiler');
    expect(compiler?.verdict).toBe('missing');
    expect(compiler?.remedy).toContain('apt install g++');
    expect(findings.map(({ subject }) => subject)).toEqual(
      expect.arrayContaining(['Node.js', 'CPU', 'cache', 'CUDA driver']),
    );
  });

  test('repeats unknown variables as notes', async () => {
    const { out } = await run(['doctor'], { PATH: directory, TORCHINDUCTOR_SIZE_ASSERT: '1' });
    expect(out).toContain('did you mean TORCHINDUCTOR_SIZE_ASSERTS?');
  });
});

test('--json FILE writes the document beside the text', async () => {
  for (const args of [['--json', join(directory, 'a.json')], [`--json=${join(directory, 'b')}`]]) {
    const { status, out } = await run(['config', 'sizeAsserts', ...args]);
    expect(status).toBe(0);
    expect(out).toContain('sizeAsserts');
    const file = args.at(-1)?.replace('--json=', '') ?? '';
    expect(readFileSync(file, 'utf8')).toMatch(/^[[{][\s\S]*"sizeAsserts"/);
  }
});

describe('run', () => {
  test('gives the program its arguments and the logs, and takes its exit status', async () => {
    const file = join(directory, 'program.ts');
    const body = `const [a]: string[] = process.argv.slice(2);\nprocess.exit(a === 'seven' && process.env['TORCH_LOGS'] !== undefined ? 7 : 1);\n`;
    writeFileSync(file, body);
    expect(await runCli(['run', file, 'seven'], { streams: { out: () => 0, error: () => 0, color: false } })).toBe(7);
  });

  test('a graph that was kept is compiled again and compared with the interpreter', () => {
    const file = join(directory, 'kept.mjs');
    const kept = join(directory, 'kept');
    writeFileSync(
      file,
      `import { compile, randn } from 'tsinductor';\ncompile((x) => x.mul(2).sum(0), { name: 'twice' })(randn([4, 8]));\n`,
    );
    const variables = { TORCHINDUCTOR_CACHE_DIR: join(directory, 'kept-cache'), TORCH_COMPILE_DEBUG: '1' };
    const env = { ...process.env, ...variables };
    const body = `import { setConfig } from 'tsinductor';\nsetConfig({ 'trace.debugDir': ${JSON.stringify(kept)} });\nawait import(${JSON.stringify(file)});\n`;
    const entry = join(directory, 'keep.mjs');
    writeFileSync(entry, body);
    expect(spawnSync(process.execPath, [bin, 'run', entry], { encoding: 'utf8', env }).status).toBe(0);
    const replay = (path: string): string => {
      // Neither makes a pipe a terminal.
      const colored = { ...process.env, CI: '1', FORCE_COLOR: '1' };
      const { status, stdout } = spawnSync(process.execPath, [bin, 'run', path], { encoding: 'utf8', env: colored });
      expect(status).toBe(0);
      return stdout;
    };
    const text = replay(join(kept, '000-twice'));
    expect(text).toMatch(/^twice: native code .*, disk, \d+\.\d+ ms a call\nkey [0-9a-f]+\n/);
    expect(text).toMatch(/result +largest difference.*\n *0 +\d/);
    expect(replay(join(kept, '000-twice', 'graph.json'))).toContain('twice: native code');
  });

  test('with --memory it says at the end what the program held, its peak, and what waits', () => {
    const file = join(directory, 'holds.mjs');
    writeFileSync(
      file,
      `import { tensor } from 'tsinductor';\nglobalThis.kept = tensor(new Float32Array(1 << 20));\ntensor(new Float32Array(1 << 20)).dispose();\n`,
    );
    const { status, stderr } = spawnSync(process.execPath, [bin, 'run', '--memory', file], { encoding: 'utf8' });
    expect(status).toBe(0);
    expect(stderr).toContain(`memory at the end of ${file}`);
    expect(stderr).toMatch(/live +4\.00 MiB {2}in 1 storages/);
    expect(stderr).toMatch(/peak +8\.00 MiB/);
    expect(stderr).toMatch(/resident +\d/);
  });

  test('without it nothing is said', () => {
    const file = join(directory, 'silent.mjs');
    writeFileSync(file, `import { tensor } from 'tsinductor';\ntensor([1]);\n`);
    const { stderr } = spawnSync(process.execPath, [bin, 'run', file], { encoding: 'utf8' });
    expect(stderr).not.toContain('memory at the end');
  });

  test('a missing file is an error', async () => {
    const { status, error } = await run(['run', join(directory, 'none.ts')]);
    expect(status).toBe(1);
    expect(error).toContain('CLI_FILE: there is no file');
  });
});

const describeBuilt = existsSync(bin) ? describe : describe.skip;
if (!existsSync(bin))
  process.stderr.write('built program skipped: packages/tsinductor/lib is not there, npm run build makes it\n');

describeBuilt('explain', () => {
  test('shows the graphs of compiled functions and of workloads, with their sources when asked', () => {
    const file = join(directory, 'model.mjs');
    const workload = `{ name: 'sum of squares', inputs: () => [randn([8, 4])], fn: (x) => x.mul(x).sum(1) }`;
    const body = `console.log('printed by the module'); export const double = compile((x) => x.add(x)); double(randn([5]));`;
    writeFileSync(file, `import { compile, randn } from 'tsinductor'; ${body} export const workloads = [${workload}];`);
    const output = execFileSync(process.execPath, [bin, 'explain', file, '--json', '--source'], {
      encoding: 'utf8',
      env: { PATH: '/usr/bin:/bin', TORCHINDUCTOR_CACHE_DIR: join(directory, 'explain-cache') },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const explained = JSON.parse(output) as { export: string; graphs: { kernels: unknown[]; source?: string }[] }[];
    expect(explained.map((entry) => entry.export)).toEqual(['double', 'sum of squares']);
    expect(explained.every(({ graphs }) => graphs.length === 1)).toBe(true);
  });

  test('--stage shows what one stage makes; a name that no stage has is an error that lists them', () => {
    const file = join(directory, 'stages.mjs');
    const workload = `{ name: 'added twice', inputs: () => [randn([8])], fn: (x) => x.add(1).add(x) }`;
    writeFileSync(file, `import { randn } from 'tsinductor'; export const workloads = [${workload}];`);
    const explained = (stage: string): { readonly stdout: string; readonly stderr: string } =>
      spawnSync(process.execPath, [bin, 'explain', file, '--stage', stage], {
        encoding: 'utf8',
        env: { PATH: '/usr/bin:/bin', TORCHINDUCTOR_CACHE_DIR: join(directory, 'explain-cache') },
      });
    expect(explained('lower').stdout.match(/^map /gm)).toHaveLength(2);
    expect(explained('inline').stdout.match(/^map /gm)).toHaveLength(1);
    const { stderr } = explained('inlin');
    expect(stderr).toContain(
      'STAGE_UNKNOWN: this graph goes through no stage "inlin"; did you mean inline? its stages are decompose,',
    );
  });

  test('a module that compiles nothing is an error', () => {
    const file = join(directory, 'nothing.mjs');
    writeFileSync(file, 'export const answer = 42;');
    const { status, stdout } = spawnSync(process.execPath, [bin, 'explain', file, '--json'], { encoding: 'utf8' });
    expect(status).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'CLI_NOTHING_COMPILED' } });
  });
});

describe('arguments', () => {
  test('help lists the commands; an unknown command and an unknown option are errors', async () => {
    const { status, out } = await run(['--help']);
    expect(status).toBe(0);
    for (const name of ['doctor', 'run', 'explain', 'cache', 'config']) expect(out).toContain(`tsinductor ${name}`);
    expect((await run(['docter'])).error).toContain('CLI_ARGUMENTS');
    expect((await run(['config', '--chnged'])).error).toContain('CLI_ARGUMENTS');
    expect((await run([])).error).toContain('no command was given');
  });
});

test('sizes are written in the unit that reads best', () => {
  expect([0, 512, 2048, 5 * 2 ** 20, 300 * 2 ** 30].map(formatBytes)).toEqual([
    '0 B',
    '512 B',
    '2.00 KiB',
    '5.00 MiB',
    '300 GiB',
  ]);
});
