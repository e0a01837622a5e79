// The effects of the settings of diagnostics.
import { readFileSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from '@jest/globals';
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
    for (const stage of ['graph: ', 'lowering: ', 'fusion: ', 'code generation: '])
      expect(text).toContain(`: ${stage}`);
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
    expect(read('000-rowSums').map((text) => text.split('\n')[0])).toEqual(['decisions.txt', 'decomposed.txt', 'graph.cc', 'graph.txt', 'kernels.txt', 'loops.txt', 'schedule.txt']); // prettier-ignore
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
  torchLogs: () => {
    expect(said({ torchLogs: ['output_code'] })).toContain('extern "C"');
    expect(said({ torchLogs: ['guards'] })).not.toContain('extern "C"');
  },
} satisfies Record<string, Effect>;
