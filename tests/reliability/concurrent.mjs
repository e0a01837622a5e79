// Processes that begin at once on a cold cache: one of them builds the kernel, one the bridge, one probes. Then processes that compile
// while others clear the cache, which does no harm. In: how many rounds. Out: what was built how often.
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fakeCompiler } from './fake-compilers.mjs';
import { makePlace, runProgram } from './run-program.mjs';

const processes = 32;
/** How often one probing calls the compiler: a processor without the widest instruction set is probed for the next one too. */
const probesOfOne = readFileSync('/proc/cpuinfo', 'utf8').includes(' avx512bw') ? 1 : 2;
const cli = join(import.meta.dirname, '../../packages/cli/dist/bin.js');

export async function run({ count = 20 }) {
  const failures = [];
  const built = { kernels: 0, bridges: 0, probes: 0 };
  // A sample of fewer rounds is of fewer processes too.
  const crowd = count < 20 ? 4 + 2 * count : processes;
  for (let round = 0; round < count; round += 1) {
    const place = makePlace();
    mkdirSync(join(place.path, 'tmp'));
    fakeCompiler(join(place.path, 'bin'), { call: 'version', way: 'passes' });
    const env = { ...environmentOf(place.path), PATH: join(place.path, 'bin') };
    const ended = await Promise.all(Array.from({ length: crowd }, () => runProgram('first.mjs', { env }).ended));
    const right = ended.filter(({ answer }) => answer?.kind === 'right' && answer.runsOn.startsWith('native')).length;
    const calls = readFileSync(join(place.path, 'bin', 'calls'), 'utf8').split('\n');
    const times = (part) => calls.filter((line) => line.includes(part)).length;
    const probes = times('/probe') / probesOfOne;
    const found = { kernels: times('-nostdlib'), bridges: times('bridge.cc'), probes };
    for (const name of Object.keys(built)) built[name] += found[name];
    if (right !== crowd || Object.values(found).some((number) => number !== 1))
      failures.push(`round ${round}: ${right} of ${crowd} right, ${JSON.stringify(found)}`);
    place.remove();
  }
  const { line, failures: cleared } = await clearing(count, crowd);
  failures.push(...cleared);
  return {
    line: `${count} rounds of ${crowd}: ${built.kernels} kernels, ${built.bridges} bridges, ${built.probes} probes; ${line}`,
    failures,
  };
}

/** Programs that compile, beside `cache clear` again and again. */
async function clearing(count, crowd) {
  const failures = [];
  const place = makePlace();
  mkdirSync(join(place.path, 'tmp'));
  const env = environmentOf(place.path);
  let isOver = false;
  let clears = 0;
  const clear = async () => {
    while (!isOver) {
      await new Promise((resolve) => execFile(process.execPath, [cli, 'cache', 'clear'], { env }, resolve));
      clears += 1;
    }
  };
  const clearers = [clear(), clear()];
  const runs = Math.ceil((6 * count * crowd) / processes);
  for (let round = 0; round < runs; round += 1) {
    const pair = [0, 1].map(() => runProgram('compiles.mjs', { env, args: ['3'] }).ended);
    for (const { answer, stderr } of await Promise.all(pair))
      if (answer?.kind !== 'right') failures.push(`beside cache clear: ${stderr.slice(0, 300)}`);
  }
  isOver = true;
  await Promise.all(clearers);
  place.remove();
  return { line: `${2 * runs} programs beside ${clears} clears, ${failures.length} failed`, failures };
}

const environmentOf = (place) => ({
  HOME: place,
  PATH: '/usr/bin:/bin',
  TMPDIR: join(place, 'tmp'),
  TORCHINDUCTOR_CACHE_DIR: join(place, 'cache'),
});
