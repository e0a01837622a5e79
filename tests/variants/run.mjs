// The fuzzer and a fixed sample of the golden cases under each variant of the settings.
//
//   node tests/variants/run.mjs [--graphs 300] [--sample 1500] [--golden DIR] [--only RE]
//
// Prints a line as each run ends. Exit status 1 if any run failed; what failed is printed whole.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { variants } from './variants.mjs';

const { values: options } = parseArgs({
  options: {
    graphs: { type: 'string', default: '300' },
    sample: { type: 'string', default: '1500' },
    golden: { type: 'string', default: '../shared/golden' },
    only: { type: 'string', default: '' },
  },
});

const fileOf = (path) => fileURLToPath(new URL(path, import.meta.url));
const chosen = Object.entries(variants).filter(([name]) => new RegExp(options.only).test(name));
if (chosen.length === 0) {
  console.error(`no variant matches ${options.only}: there are ${Object.keys(variants).join(', ')}`);
  process.exit(2);
}

const runs = chosen.flatMap(([name, settings]) => {
  const config = JSON.stringify(settings);
  return [
    [name, 'fuzz', fileOf('../fuzz/dist/main.js'), ['--graphs', options.graphs, '--config', config]],
    [
      name,
      'conformance',
      fileOf('../conformance/run.mjs'),
      [
        '--golden',
        options.golden,
        '--backend',
        'cpp',
        '--kind',
        'forward',
        '--sample',
        options.sample,
        '--config',
        config,
      ],
    ],
  ];
});

let failed = 0;
for (const [position, [name, kind, file, args]] of runs.entries()) {
  const started = performance.now();
  const { status, stdout, stderr } = spawnSync(process.execPath, [file, ...args], { encoding: 'utf8' });
  const seconds = ((performance.now() - started) / 1000).toFixed(0);
  const summary = stdout.trimEnd().split('\n').at(-1);
  console.log(`${position + 1}/${runs.length} ${name}: ${summary === '' ? kind : summary} (${seconds} s)`);
  if (status === 0) continue;
  failed++;
  console.log(`${stdout}\n${stderr}`);
}
console.log(`variants: ${runs.length - failed} runs passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
