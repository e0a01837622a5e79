// The effects of the settings of diagnostics.
import { existsSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from '@jest/globals';
import { cppPipeline, replayGraph, Session } from '@tsinductor/compiler';
import { resolveConfig } from '@tsinductor/config';
import type { Config } from '@tsinductor/config';
import { compile, randn, reset, setConfig } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { freshDirectory, reportOf, stderrOf, warningsOf } from './effect.ts';
import type { Effect, Options } from './effect.ts';

const rowSums = (x: Tensor): Tensor => x.add(1).sum(-1);
/** What is said on stderr while it is compiled into an empty cache. */
const said = (options: Options): string =>
  stderrOf(() => {
    reportOf(rowSums, [randn([4, 40])], { cacheDir: freshDirectory(), ...options });
  });

const silent = { warn: () => undefined, log: () => undefined };

/** The folder of a graph that was compiled, and its key. */
function keptFolder({ trace = {}, ...options }: Options & { readonly trace?: Options }): {
  readonly folder: string;
  readonly key: string | undefined;
} {
  const debugDir = freshDirectory();
  reset();
  let key: string | undefined;
  stderrOf(() => {
    key = reportOf(rowSums, [randn([4, 40])], {
      ...options,
      trace: { enabled: true, debugDir, ...trace },
    }).cacheKey;
  });
  reset();
  return { folder: join(debugDir, '000-rowSums'), key };
}

const keptUnder = (options: Parameters<typeof keptFolder>[0]): readonly string[] =>
  readdirSync(keptFolder(options).folder);

/** Without the setting the files of these stages are not there, and the others are. */
const keeps =
  (flag: string, stages: readonly string[]): Effect =>
  () => {
    const [all, less] = [keptUnder({}), keptUnder({ trace: { [flag]: false } })];
    const isOf = (file: string): boolean => stages.some((stage) => file.includes(`-${stage}.`));
    expect(all.filter(isOf)).toHaveLength(stages.length);
    expect(less.filter(isOf)).toEqual([]);
    expect(all.filter((file) => !less.includes(file)).length).toBeGreaterThanOrEqual(stages.length);
    expect(less).toContain('graph.json');
    expect(less.length).toBeGreaterThan(5);
  };

/** Without the setting there is no such drawing; with it there is one with these parts, and in the end it is SVG. */
const draws =
  (flag: string, name: string, parts: readonly string[]): Effect =>
  async () => {
    expect(keptUnder({ trace: { [flag]: false } })).not.toContain(`${name}.dot`);
    const { folder } = keptFolder({});
    const drawing = readFileSync(join(folder, `${name}.dot`), 'utf8');
    for (const part of parts) expect(drawing).toContain(part);
    const svg = join(folder, `${name}.svg`);
    while (!existsSync(svg)) await sleep(10);
    expect(readFileSync(svg, 'utf8')).toContain('</svg>');
  };

export const diagnosticsEffects = {
  debug: () => {
    expect(said({})).toBe('');
    const text = said({ debug: true });
    expect(text).toMatch(/: share-common-again: nothing changed\n/);
    for (const told of [
      /: lower: \d+ loop nodes\n/,
      /: fuse: \d+ clusters in 1 kernels\n/,
      /: inline: inlined add/,
      /: kernel \w*sum\w*: /,
    ])
      expect(text).toMatch(told);
  },
  'trace.enabled': () => {
    const debugDir = freshDirectory();
    said({ trace: { enabled: false, debugDir } });
    expect(readdirSync(debugDir)).toEqual([]);
    reset();
    const [first, second] = [1, 2].map(() => said({ trace: { enabled: true, debugDir } }));
    expect([first, second]).toEqual([`[trace] what compiling makes is kept in ${debugDir}\n`, '']);
    expect(readdirSync(debugDir)).toEqual(['000-rowSums', '001-rowSums']);
    // Times differ from run to run, and settings name directories.
    const read = (folder: string): readonly string[] =>
      readdirSync(join(debugDir, folder))
        .filter((file) => !/^times\.txt$|\.json$|\.svg$/.test(file))
        .map((file) => `${file}\n${readFileSync(join(debugDir, folder, file), 'utf8')}`);
    expect(read('000-rowSums')).toEqual(read('001-rowSums'));
    expect(read('000-rowSums').map((text) => text.split('\n')[0])).toEqual([
      '00-traced.txt',
      ...cppPipeline().stages.map(
        ({ name }, position) =>
          `${String(position + 1).padStart(2, '0')}-${name}.${name === 'print-cpp' ? 'cc' : 'txt'}`,
      ),
      'decisions.txt',
      'graph.dot',
      'groups.dot',
    ]);
    expect(read('000-rowSums').every((text) => text.length > 30)).toBe(true);
    const textOf = (file: string): string => readFileSync(join(debugDir, '000-rowSums', file), 'utf8');
    expect(textOf('times.txt')).toMatch(/^fuse +\d+\.\d\d ms$/m);
    const config = JSON.parse(textOf('config.json')) as readonly { readonly name: string; readonly value: unknown }[];
    expect(config.find(({ name }) => name === 'trace.debugDir')?.value).toBe(debugDir);
    reset();
  },
  'trace.drawOrigFxGraph': draws('drawOrigFxGraph', 'graph', ['label="add', 'label="sum']),
  'trace.graphDiagram': draws('graphDiagram', 'groups', ['subgraph "cluster_0"', 'label="fused_add_sum"']),
  torchTrace: () => {
    const directory = join(freshDirectory(), 'made');
    said({});
    expect(existsSync(directory)).toBe(false);
    said({ torchTrace: directory });
    const [file = ''] = readdirSync(directory);
    expect(file).toBe(`tsinductor-${String(process.pid)}.jsonl`);
    const events = readFileSync(join(directory, file), 'utf8')
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { readonly event: string }).event);
    expect(events).toEqual(['stages', 'compiled', 'guards']);
  },
  'trace.fxGraph': () => {
    expect(keptUnder({ trace: { fxGraph: false } })).not.toContain('graph.json');
    const { folder, key } = keptFolder({});
    const { report, differences } = replayGraph(readFileSync(join(folder, 'graph.json'), 'utf8'), silent);
    // By as much as the order of a sum is worth: lanes differ between processors.
    expect(differences).toHaveLength(1);
    expect(differences[0]).toBeLessThan(1e-5);
    // In another session it has the same key, and is found where it was put.
    expect([report.cacheKey, report.origin]).toEqual([key, 'disk']);
    expect(() => replayGraph('{}', silent)).toThrow(expect.objectContaining({ code: 'SAVED_GRAPH' }));
  },
  'trace.fxGraphTransformed': keeps('fxGraphTransformed', ['decompose', 'fold-constants', 'remove-dead']),
  'trace.irPreFusion': keeps('irPreFusion', ['lower', 'inline', 'custom-nodes']),
  'trace.irPostFusion': keeps('irPostFusion', ['fuse', 'make-groups', 'plan-memory']),
  'trace.outputCode': keeps('outputCode', ['bind', 'instructions', 'print-cpp']),
  'trace.debugLog': () => {
    expect(keptUnder({})).not.toContain('debug.log');
    const { folder } = keptFolder({ trace: { debugLog: true } });
    expect(readFileSync(join(folder, 'debug.log'), 'utf8')).toMatch(/^lower: \d+ loop nodes$[^]*^inline: inlined add/m);
  },
  'trace.infoLog': () => {
    expect(keptUnder({})).not.toContain('info.log');
    const { folder } = keptFolder({ trace: { infoLog: true } });
    expect(readFileSync(join(folder, 'info.log'), 'utf8')).toBe('rowSums: 2 loop nodes became 1 kernels\n');
  },
  'trace.logAutotuningResults': () => {
    expect(keptUnder({})).not.toContain('autotuning.jsonl');
    const debugDir = freshDirectory();
    const product = (a: Tensor, b: Tensor): Tensor => a.matmul(b);
    const kept = { 'trace.enabled': true, 'trace.debugDir': debugDir, 'trace.logAutotuningResults': true };
    reset();
    setConfig({ autotuneLocalCache: false });
    const tuned = { maxAutotuneGemm: true, maxAutotuneReportChoicesStats: false, forceDisableCaches: true };
    const options = { ...kept, ...tuned, maxAutotuneSubprocResultTimeoutSeconds: 0.01 };
    const { decisions } = reportOf(product, [randn([96, 70]), randn([70, 90])], options);
    const lines = readFileSync(join(debugDir, '000-product', 'autotuning.jsonl'), 'utf8')
      .split('\n')
      .slice(0, -1);
    const tunedOnes = decisions.flatMap((decision) => (decision.kind === 'tuned' ? [decision] : []));
    expect(tunedOnes).toHaveLength(1);
    expect(lines).toHaveLength(tunedOnes.flatMap(({ measured = [] }) => measured).length);
    expect(JSON.parse(lines[0] ?? '')).toEqual({
      kernel: tunedOnes[0]?.group,
      choices: expect.any(String),
      failure: 'it took more than 0.01 s',
    });
    setConfig({ autotuneLocalCache: true });
    reset();
  },
  saveArgs: () => {
    const debugDir = freshDirectory();
    reset();
    said({ 'trace.debugDir': debugDir });
    expect(readdirSync(debugDir)).toEqual([]);
    reset();
    said({ saveArgs: true, 'trace.debugDir': debugDir });
    expect(readdirSync(join(debugDir, '000-rowSums'))).toEqual(['graph.json']);
    const { name, report } = replayGraph(readFileSync(join(debugDir, '000-rowSums', 'graph.json'), 'utf8'), silent);
    expect([name, report.kernels.length]).toEqual(['rowSums', 1]);
    reset();
  },
  'trace.debugDir': () => {
    reset();
    const below = join(freshDirectory(), 'made', 'on', 'demand');
    expect(said({ trace: { enabled: true, debugDir: below } })).toContain(below);
    expect(readdirSync(below)).toEqual(['000-rowSums']);
    reset();
    expect(said({ trace: { enabled: true } })).toContain(join(tmpdir(), 'tsinductor-debug-'));
    reset();
  },
  verify: () => {
    // A pass of the program's that breaks a law which nothing else looks at: its loops do not reach the second one.
    const repeat = (groups: { nodes: unknown[] }[]): unknown => {
      groups[0]?.nodes.push(groups[0].nodes[0]);
      return groups;
    };
    const broken = (verify: boolean) => (): unknown =>
      reportOf(rowSums, [randn([4, 40])], {
        verify,
        postFusionCustomPass: { key: String(verify), run: repeat },
        'cpp.cxx': ['/absent'],
        'trace.enabled': true,
        'trace.debugDir': freshDirectory(),
      });
    expect(broken(true)).toThrow(/the stage custom-order made breaks a law: .* is written by two nodes/);
    expect(broken(false)).not.toThrow();
  },
  timeStages: () => {
    const stages = (options: Options): readonly string[] =>
      (reportOf(rowSums, [randn([4, 40])], { cacheDir: freshDirectory(), ...options }).stages ?? []).map(
        ({ name }) => name,
      );
    expect(stages({})).toEqual([]);
    expect(stages({ timeStages: true })).toEqual(cppPipeline().stages.map(({ name }) => name));
  },
  torchLogs: () => {
    const cacheDir = freshDirectory();
    const logged = (...torchLogs: readonly string[]): string => {
      reset();
      return stderrOf(() => {
        const compiled = compile(rowSums, { options: { cacheDir, torchLogs } });
        for (const rows of [4, 5, 6]) compiled(randn([rows, 40]));
      });
    };
    const expected: Readonly<Record<string, RegExp>> = {
      graph: /^\[graph\] rowSums:\nopcode +name +target +uses\nplaceholder +%0 +input0\ncall +%1 +add +%0\n/m,
      graph_code: /^\[graph_code\] rowSums:\n[^]*= add\(%0, 1, alpha=1\) +# .*diagnostics-effects\.ts:\d+/m,
      graph_sizes: /^%0 input0: f32\[4, 40\] with strides \[40, 1\]$/m,
      guards: /^\[guards\] rowSums:\n +\S/m,
      recompiles: /^\[recompiles\] rowSums: .*\[5, 40\].*expected.*\[4, 40\]/m,
      dynamic: /^\[dynamic\] rowSums: \w+ is size 0 of input0$/m,
      fusion: /^\[fusion\] rowSums: .*inline: inlined add/m,
      schedule: /^\[schedule\] rowSums:\nschedule\(\)\n[^]*^group 0 /m,
      output_code: /^\[output_code\] rowSums:\n[^]*extern "C"/m,
      kernel_code: /^\[kernel_code\] rowSums:\n.*\w*sum\w*\(.*\{\n[^]*^\}$/m,
      cudagraphs: /^\[cudagraphs\] rowSums: it runs on the CPU/m,
    };
    // The second time everything is found in the cache, and told all the same.
    for (const [topic, said] of Object.entries(expected)) expect(logged(topic)).toMatch(said);
    expect(logged('guards')).not.toMatch(/^\[(?!guards)/m);
    expect(logged()).toBe('');
    const all = logged('all', '-output_code');
    for (const [topic, said] of Object.entries(expected))
      if (topic === 'output_code') expect(all).not.toMatch(said);
      else expect(all).toMatch(said);
    const kernels = logged('kernel_code');
    expect(kernels).not.toContain('extern "C"');
    reset();
  },
  torchLogsOut: () => {
    const directory = freshDirectory();
    const [file, missing] = [join(directory, 'made', 'log.txt'), join(directory, 'logs/')];
    const stderr = said({ torchLogs: ['schedule'], torchLogsOut: file });
    expect(stderr).toContain('[schedule] rowSums:');
    expect(readFileSync(file, 'utf8')).toBe(stderr);
    for (const torchLogsOut of [directory, missing]) {
      const text = said({ torchLogs: ['schedule'], torchLogsOut });
      expect(readFileSync(join(torchLogsOut, `tsinductor-${String(process.pid)}.log`), 'utf8')).toBe(text);
    }
    expect(said({ torchLogs: ['schedule'], torchLogsOut: join(file, 'below') })).toBe(stderr);
  },
  loglevel: () => {
    expect(said({ loglevel: 'INFO' })).toBe('');
    expect(said({ loglevel: 'DEBUG' })).toMatch(/: lower: \d+ loop nodes\n/);
    const warned = (loglevel: Config['loglevel']): readonly string[] => {
      const codes: string[] = [];
      const voice = { warn: (code: string) => codes.push(code), log: () => undefined };
      using session = new Session(resolveConfig({ env: {}, program: { loglevel } }), voice);
      session.warnOnce('SOMETHING', 'is worth a warning');
      return codes;
    };
    expect((['INFO', 'WARNING', 'ERROR', 'CRITICAL'] as const).map((level) => warned(level).length)).toEqual([
      1, 1, 0, 0,
    ]);
  },
  runJitPostCompileHook: () => {
    const seen: unknown[] = [];
    const run = (compiled: unknown): unknown => seen.push(compiled);
    const cacheDir = freshDirectory();
    const compileIt = (runJitPostCompileHook: boolean): string =>
      said({ cacheDir, runJitPostCompileHook, jitPostCompileHook: { key: 'see', run } });
    compileIt(false);
    expect(seen).toEqual([]);
    reset();
    rmSync(cacheDir, { recursive: true });
    compileIt(true);
    expect(seen).toEqual([{ name: 'rowSums', report: expect.objectContaining({ origin: 'built' }) }]);
    reset();
    compileIt(true);
    expect(seen).toHaveLength(1);
  },
  jitPostCompileHook: () => {
    expect(said({ runJitPostCompileHook: true })).toBe('');
    const names: string[] = [];
    const run = ({ name }: { name: string }): unknown => names.push(name);
    said({ runJitPostCompileHook: true, jitPostCompileHook: { key: 'names', run } });
    expect(names).toEqual(['rowSums']);
  },
  warnMixLayout: () => {
    const [first, last] = [randn([4, 8]), randn([8, 4]).t()];
    const warned = (warnMixLayout: boolean, b: Tensor): readonly string[] =>
      warningsOf(() => {
        reset();
        reportOf((x, y) => x.add(y), [first, b], { cacheDir: freshDirectory(), warnMixLayout });
      });
    expect(warned(true, randn([4, 8]))).toEqual([]);
    expect(warned(true, last)).toEqual(['MIXED_LAYOUTS']);
    expect(warned(false, last)).toEqual([]);
    reset();
  },
  debugFusion: () => {
    expect(said({ debugFusion: false })).toBe('');
    const text = said({ debugFusion: true });
    expect(text).toMatch(/^\[fusion\] rowSums:\n\w*sum\w*: .*\n[^]*inline: inlined add/);
  },
} satisfies Record<string, Effect>;
