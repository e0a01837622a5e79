// How long programs take to end after their last call (R24): the examples of the repository and what a user may leave at work. Each runs
// twice, on a cold cache and on a warm one. In: how many. Out: how many ended by themselves in time, and the slowest.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { leftBehind, makePlace, runProgram } from './run-program.mjs';
import { picked } from './sample.mjs';

const examples = join(import.meta.dirname, '../../examples');
const example = (file, ...args) => ['example', join(examples, file), ...args];

/** Arguments of programs/exits.mjs; `OUTPUT` is a directory for what a program writes. */
const programs = [
  ['readme'],
  ['eager'],
  ['background'],
  ['a warm-up'],
  ['processes that compile'],
  ['gradients'],
  ['a server that is away'],
  ['kernels'],
  ['batches'],
  example('kernels/dist/main.js'),
  example('gpt/dist/main.js', '--steps', '2', '--output', 'OUTPUT'),
  example('mnist/dist/main.js', '--epochs', '1', '--output', 'OUTPUT'),
  example('mnist/dist/cnn.js', '--epochs', '1', '--output', 'OUTPUT'),
];

/** From the last call to the end of the process, without the time in which other programs ran instead. */
const mostMilliseconds = 200;
const patience = 600_000;

export async function run({ count = programs.length, seed, only }) {
  // A sample runs beside other work.
  const most = count < programs.length ? 20 * mostMilliseconds : mostMilliseconds;
  const matching = programs.filter((args) => only === undefined || args.join(' ').includes(only));
  const chosen = picked(matching, count, seed);
  const failures = [];
  let slowest = 0;
  for (const args of chosen) {
    const place = makePlace();
    mkdirSync(join(place.path, 'tmp'));
    const env = {
      HOME: place.path,
      TMPDIR: join(place.path, 'tmp'),
      TORCHINDUCTOR_CACHE_DIR: join(place.path, 'cache'),
    };
    const given = args.map((arg) => (arg === 'OUTPUT' ? join(place.path, 'output') : arg));
    for (const state of ['cold', 'warm']) {
      const { answer, status, signal, stderr, endedAt, isLate } = await runProgram('exits.mjs', {
        env,
        args: given,
        milliseconds: patience,
      }).ended;
      const what = `${args.join(' ').replace(examples, 'examples')}, ${state}`;
      if (isLate || answer === undefined || status !== 0) {
        failures.push(`${what}: ${isLate ? 'no end' : `${signal ?? status} ${stderr.slice(0, 300)}`}`);
        continue;
      }
      const milliseconds = Math.round(Math.max(0, endedAt - answer.over - answer.waited));
      slowest = Math.max(slowest, milliseconds);
      if (milliseconds > most) failures.push(`${what}: ${milliseconds} ms after its last call`);
    }
    const { processes } = await leftBehind(place.path);
    if (processes.length > 0) failures.push(`${args.join(' ')} left ${processes.length} processes`);
    place.remove();
  }
  return {
    line: `R24 ${2 * chosen.length - failures.length} of ${2 * chosen.length} ended in time, the slowest in ${slowest} ms`,
    failures,
  };
}
