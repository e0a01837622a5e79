// The effects of the settings of diagnostics.
import { readFileSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { cppPipeline } from '@tsinductor/compiler';
import { randn, reset } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { freshDirectory, reportOf, stderrOf } from './effect.ts';
import type { Effect, Options } from './effect.ts';

const rowSums = (x: Tensor): Tensor => x.add(1).sum(-1);
/** What is said on stderr while it is compiled into an empty cache. */
const said = (options: Options): string =>
  stderrOf(() => {
    reportOf(rowSums, [randn([4, 40])], { cacheDir: freshDirectory(), ...options });
  });

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
    const read = (folder: string): readonly string[] =>
      readdirSync(join(debugDir, folder)).map(
        (file) => `${file}\n${readFileSync(join(debugDir, folder, file), 'utf8')}`,
      );
    expect(read('000-rowSums')).toEqual(read('001-rowSums'));
    expect(read('000-rowSums').map((text) => text.split('\n')[0])).toEqual([
      '00-traced.txt',
      ...cppPipeline().stages.map(
        ({ name }, position) =>
          `${String(position + 1).padStart(2, '0')}-${name}.${name === 'print-cpp' ? 'cc' : 'txt'}`,
      ),
      'decisions.txt',
    ]);
    expect(read('000-rowSums').every((text) => text.length > 30)).toBe(true);
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
    const debugDir = freshDirectory();
    reset();
    said({ timeStages: true, trace: { enabled: true, debugDir } });
    expect(readFileSync(join(debugDir, '000-rowSums', 'times.txt'), 'utf8')).toMatch(/^fuse +\d+\.\d\d ms$/m);
    reset();
  },
  torchLogs: () => {
    expect(said({ torchLogs: ['output_code'] })).toContain('extern "C"');
    expect(said({ torchLogs: ['guards'] })).not.toContain('extern "C"');
  },
} satisfies Record<string, Effect>;
