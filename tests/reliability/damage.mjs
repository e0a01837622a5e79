// Damage to a warm cache: flipped bits, cut, emptied and swapped files, FIFOs, files of 3 GB without content, in any file that
// is there, records and bridge as well. Each time a fresh process must answer rightly, in native code.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makePlace, pathsBelow, runProgram } from './run-program.mjs';
import { beside, randomOf } from './sample.mjs';

const kinds = {
  'a flipped bit': (path, random) => {
    const bytes = readFileSync(path);
    if (bytes.length === 0) return;
    const bit = random(bytes.length * 8);
    bytes[bit >> 3] ^= 1 << (bit & 7);
    writeFileSync(path, bytes);
  },
  // An empty file, such as that of locks, has nothing to be cut off.
  'a cut': (path, random) => truncateSync(path, random(Math.max(1, statSync(path).size))),
  'another file': (path, random, others) => {
    const rest = others.filter((other) => other !== path);
    cpSync(rest[random(rest.length)], path);
  },
  nothing: (path) => truncateSync(path, 0),
  'a FIFO': (path) => {
    rmSync(path);
    execFileSync('mkfifo', [path]);
  },
  '3 GB': (path) => truncateSync(path, 3 * 2 ** 30),
  'a directory': (path) => {
    renameSync(path, `${path}.away`);
    mkdirSync(path);
  },
};

/** As many of each as the figure asks for, of 1,320. */
const shares = {
  'a flipped bit': 1000,
  'a cut': 200,
  'another file': 60,
  nothing: 30,
  'a FIFO': 10,
  '3 GB': 10,
  'a directory': 10,
};

export async function run({ count = 1320, seed }) {
  const random = randomOf(seed);
  const warm = makePlace();
  mkdirSync(join(warm.path, 'tmp'));
  const failures = [];
  const first = await runProgram('first.mjs', { env: environmentOf(warm.path, 'warm') }).ended;
  if (first.answer?.kind !== 'right') failures.push('the cache could not be warmed');
  const files = pathsBelow(join(warm.path, 'warm')).filter((path) => statSync(join(warm.path, 'warm', path)).isFile());
  const wanted = Object.entries(shares).flatMap(([kind, share]) =>
    new Array(Math.ceil((share * count) / 1320)).fill(kind),
  );
  const trials = wanted.map((kind, number) => ({ kind, number, file: files[random(files.length)] }));
  await beside(trials, async ({ kind, number, file }) => {
    const name = `cache-${number}`;
    const cache = join(warm.path, name);
    cpSync(join(warm.path, 'warm'), cache, { recursive: true });
    kinds[kind](
      join(cache, file),
      randomOf(seed * 100_003 + number),
      files.map((other) => join(cache, other)),
    );
    const { answer, signal, status, isLate } = await runProgram('first.mjs', { env: environmentOf(warm.path, name) })
      .ended;
    const isRight = answer?.kind === 'right' && answer.runsOn.startsWith('native');
    if (isLate || !isRight)
      failures.push(`${kind} in ${file}: ${isLate ? 'no end' : JSON.stringify(answer ?? signal ?? status)}`);
    rmSync(cache, { recursive: true, force: true });
  });
  warm.remove();
  return { line: `${wanted.length - failures.length} of ${wanted.length} answered rightly, in native code`, failures };
}

const environmentOf = (place, cache) => ({
  HOME: place,
  TMPDIR: join(place, 'tmp'),
  TORCHINDUCTOR_CACHE_DIR: join(place, cache),
});
