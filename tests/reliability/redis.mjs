// A Redis server that machines share: away, paused, killed in the middle, full, and with values in it that nobody signed, or that are
// damaged, swapped, cut, or of a stranger. Each machine is a cache directory, which has its bridge already; each trial is a program, which
// answers rightly in native code whatever the server does, and says with a code what it met. In: how many damaged values. Out: what was
// built, fetched, believed.
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { startServer } from '../../packages/cache/test-support/resp-server.mjs';
import { openRedis, writeKeyPair } from '../../packages/cache/dist/index.js';
import { Redis } from 'ioredis';
import { makePlace, runProgram, sleep } from './run-program.mjs';
import { randomOf } from './sample.mjs';

const cli = join(import.meta.dirname, '../../packages/tsinductor/lib/cli/tsinductor.js');

/** Milliseconds of a call of the server, and what beyond them a program may take for it: its thread's start, and its end. */
const patience = 500;
const grace = 4000;

export async function run({ count = 200, seed }) {
  if (spawnSync('redis-server', ['--version']).status !== 0)
    return { line: 'skipped: there is no redis-server here (apt-get install redis-server)', failures: [] };
  const random = randomOf(seed);
  const place = makePlace();
  const trial = new Trial(place.path);
  const failures = [];
  try {
    await trial.warm();
    const line = [
      await sharing(trial, count, failures),
      await farming(trial, count, failures),
      await hostile(trial, count, random, failures),
      await misbehaving(trial, failures),
    ].join('; ');
    return { line, failures };
  } finally {
    trial.end();
    place.remove();
  }
}

/** A machine builds, all others fetch. */
async function sharing(trial, count, failures) {
  await trial.start();
  const others = count < 200 ? 2 : 20;
  const origins = [];
  for (let machine = 0; machine <= others; machine += 1) origins.push((await trial.machine(failures)).origin);
  const built = origins.filter((origin) => origin === 'built').length;
  const fetched = origins.filter((origin) => origin === 'remote').length;
  if (built !== 1 || fetched !== others) failures.push(`shared: ${origins.join(' ')}`);
  return `${built} built, ${fetched} fetched`;
}

/** Machines that need the same at once: the first builds, or a worker, or nobody but themselves. */
async function farming(trial, count, failures) {
  const machines = count < 200 ? 3 : 12;
  const atOnce = async (what) => {
    await trial.redis.flushall();
    const ended = await Promise.all(
      Array.from({ length: machines }, () => trial.machine(failures, { what, farm: true })),
    );
    return ended.filter(({ origin }) => origin === 'built').length;
  };
  const expectBuilt = (what, built, wanted) => {
    if (built !== wanted) failures.push(`${what}: ${built} of ${machines} machines built, not ${wanted}`);
    return built;
  };
  const alone = expectBuilt('at once', await atOnce('at once'), 1);
  const worker = await trial.worker();
  const served = expectBuilt('with a worker', await atOnce('with a worker'), 0);
  const jobs = worker
    .said()
    .split('\n')
    .filter((line) => line.endsWith(' built')).length;
  if (jobs !== 1) failures.push(`with a worker: it built ${jobs} times: ${worker.said()}`);
  // It is there, and does nothing: then it is gone, and who waits for it builds.
  worker.child.kill('SIGSTOP');
  setTimeout(() => worker.child.kill('SIGKILL'), 5000);
  const left = await atOnce('with a worker that dies');
  if (left === 0) failures.push('with a worker that dies nobody built');
  await trial.redis.flushall();
  const tuned = await Promise.all(Array.from({ length: machines }, () => trial.tunes(failures)));
  const measured = tuned.reduce((sum, one) => sum + one, 0);
  if (measured !== 3) failures.push(`tuned at once: ${tuned.join(' ')} configurations were measured, not 3 by one`);
  return (
    `${machines} at once: ${alone} built; with a worker ${served}, and it ${jobs}; with one that dies ${left}; ` +
    `${measured} configurations measured of 3`
  );
}

/** What there is under the name of the entry, changed in some way. */
async function hostile(trial, count, random, failures) {
  await trial.redis.flushall();
  await trial.machine(failures);
  const [name] = await trial.redis.keys('tsinductor:fx:*');
  const value = await trial.redis.getBuffer(name);
  const stranger = writeKeyPair(join(trial.path, 'stranger'));
  const ways = {
    flipped: () => {
      const bytes = Buffer.from(value);
      const bit = random(8 * bytes.length);
      bytes[bit >> 3] ^= 1 << (bit & 7);
      return bytes;
    },
    cut: () => value.subarray(0, random(value.length)),
    longer: () => Buffer.concat([value, Buffer.alloc(1 + random(100))]),
    unsigned: () => value.subarray(104),
    empty: () => Buffer.alloc(0),
    noise: () => Buffer.from(Array.from({ length: 1 + random(5000) }, () => random(256))),
    large: () => Buffer.alloc(100 << 20),
    'of another name': () => trial.signedAs('fx:of another', value.subarray(104), trial.key),
    'of a stranger': () => trial.signedAs(name.slice('tsinductor:'.length), value.subarray(104), stranger.key),
    'no entry, but signed': () => trial.signedAs(name.slice('tsinductor:'.length), Buffer.from('no entry'), trial.key),
    'another type': undefined,
  };
  const kinds = Object.keys(ways);
  let believed = 0;
  let told = 0;
  for (let number = 0; number < count; number += 1) {
    // Every way once, and then what is most often met.
    const kind = number < kinds.length ? kinds[number] : kinds[number % 3];
    await trial.redis.del(name);
    if (ways[kind] === undefined) await trial.redis.lpush(name, 'a list');
    else await trial.redis.set(name, await ways[kind]());
    const { origin, codes } = await trial.machine(failures, { key: trial.reader, what: kind });
    if (origin === 'remote') failures.push(`${kind} was believed`);
    if (origin === 'remote') believed += 1;
    if (codes.filter((code) => code.startsWith('REMOTE_CACHE_')).length === 1) told += 1;
    else failures.push(`${kind} was told with ${codes.join(' ') || 'nothing'}`);
  }
  await trial.redis.set(name, value);
  return `${count} hostile values: ${believed} believed, ${told} told`;
}

/** A server that does not serve. */
async function misbehaving(trial, failures) {
  let slowest = 0;
  const told = [];
  const meet = async (what, options = {}) => {
    const { callMs, exitMs, codes } = await trial.machine(failures, { what, ...options });
    slowest = Math.max(slowest, exitMs);
    told.push(...codes);
    if (exitMs > patience + grace)
      failures.push(`${what}: it took ${exitMs.toFixed(0)} ms to end, after ${callMs.toFixed(0)}`);
  };
  await trial.redis.flushall();
  await trial.redis.config('SET', 'maxmemory', '1kb');
  await meet('full');
  trial.server.kill('SIGSTOP');
  await meet('paused');
  trial.server.kill('SIGCONT');
  setTimeout(() => trial.server.kill('SIGKILL'), 300);
  await meet('killed in the middle');
  await trial.stopped();
  await meet('away');
  const plain = createServer((socket) => socket.resume());
  await new Promise((resolve) => plain.listen(0, '127.0.0.1', resolve));
  await meet('silent', { port: plain.address().port });
  plain.close();
  const ways = ['garbage', 'number', 'error', 'half', 'closes', 'endless', 'swaps'];
  for (const way of ways) {
    const server = await startServer({ way });
    server.store.set('tsinductor:other', Buffer.from('other'));
    await meet(way, { port: server.port });
    server.close();
  }
  const silent = told.filter((code) => code.startsWith('REMOTE_CACHE_')).length;
  return `${5 + ways.length} ways of a server that does not serve, told ${silent} times, the slowest end ${slowest.toFixed(0)} ms`;
}

class Trial {
  path;
  key;
  /** Trusts the first, and writes nothing. */
  reader = null;
  server;
  redis;
  #port = 0;
  #machines = 0;
  #workers = [];

  constructor(path) {
    this.path = path;
    this.key = writeKeyPair(join(path, 'key')).key;
  }

  /** A cache with all but graphs, which the machines begin with. */
  async warm() {
    mkdirSync(join(this.path, 'tmp'));
    const { answer, stderr } = await runProgram('first.mjs', { env: this.#environment('warm', {}) }).ended;
    if (answer?.kind !== 'right') throw new Error(`the cache could not be warmed: ${stderr}`);
    rmSync(join(this.path, 'warm', 'fx'), { recursive: true });
  }

  async start() {
    this.#port = await freePort();
    const args = ['--port', this.#port, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', this.path];
    this.server = spawn('redis-server', args.map(String), { stdio: 'ignore' });
    this.redis = new Redis({
      host: '127.0.0.1',
      port: this.#port,
      retryStrategy: () => 50,
      maxRetriesPerRequest: null,
    });
    this.redis.on('error', () => undefined);
    await this.redis.ping();
  }

  stopped() {
    this.redis.disconnect();
    return (
      this.server.exitCode ?? this.server.signalCode ?? new Promise((resolve) => this.server.once('exit', resolve))
    );
  }

  end() {
    this.redis?.disconnect();
    this.server?.kill('SIGKILL');
    for (const worker of this.#workers) worker.kill('SIGKILL');
  }

  /** A fresh machine runs the program once: it has to answer rightly, in native code. */
  async machine(failures, { what = 'shared', port = this.#port, key = this.key, farm = false } = {}) {
    const name = this.#freshMachine();
    const own =
      key === null ? { TSINDUCTOR_REMOTE_CACHE_TRUST: `${this.key}.pub` } : { TSINDUCTOR_REMOTE_CACHE_KEY: key };
    const remote = {
      ...this.#remote(port),
      // Many programs at once leave the processor to none of them.
      ...(farm ? { TSINDUCTOR_COMPILE_FARM: '1', TSINDUCTOR_REMOTE_CACHE_TIMEOUT: '20000' } : {}),
      ...own,
    };
    const { answer, stderr, isLate } = await runProgram('first.mjs', { env: this.#environment(name, remote) }).ended;
    if (isLate || answer?.kind !== 'right' || !answer.runsOn.startsWith('native'))
      failures.push(`${what}: ${isLate ? 'no end' : (JSON.stringify(answer) ?? stderr.slice(0, 300))}`);
    rmSync(join(this.path, name), { recursive: true, force: true });
    const codes = (answer?.warnings ?? []).map(({ code }) => code);
    return { origin: answer?.origin, callMs: answer?.callMs ?? 0, exitMs: answer?.exitMs ?? 0, codes };
  }

  /** A machine that builds for others; `said` is what it has told so far. */
  async worker() {
    const env = { ...this.#environment('worker', this.#remote(this.#port)), PATH: process.env.PATH };
    const child = spawn(process.execPath, [cli, 'worker'], { env: { ...env, TSINDUCTOR_REMOTE_CACHE_KEY: this.key } });
    let text = '';
    child.stderr.on('data', (chunk) => (text += chunk));
    child.stdout.on('data', (chunk) => (text += chunk));
    this.#workers.push(child);
    while (!text.includes('builds for others') && child.exitCode === null) await sleep(50);
    return { child, said: () => text };
  }

  /** A fresh machine tunes a kernel; gives how many configurations it measured. */
  async tunes(failures) {
    const name = this.#freshMachine();
    const remote = {
      ...this.#remote(this.#port),
      TORCHINDUCTOR_AUTOTUNE_REMOTE_CACHE: '1',
      TSINDUCTOR_COMPILE_FARM: '1',
      TSINDUCTOR_REMOTE_CACHE_TIMEOUT: '20000',
      TSINDUCTOR_REMOTE_CACHE_KEY: this.key,
    };
    const { answer, stderr } = await runProgram('tunes.mjs', { env: this.#environment(name, remote) }).ended;
    if (answer?.kind !== 'right') failures.push(`tuning: ${stderr.slice(0, 300)}`);
    return answer?.measured ?? 0;
  }

  #remote(port) {
    return {
      TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE: '1',
      TORCHINDUCTOR_REDIS_HOST: '127.0.0.1',
      TORCHINDUCTOR_REDIS_PORT: String(port),
      TSINDUCTOR_REMOTE_CACHE_TIMEOUT: String(patience),
    };
  }

  #freshMachine() {
    const name = `machine-${this.#machines++}`;
    cpSync(join(this.path, 'warm'), join(this.path, name), { recursive: true });
    return name;
  }

  /** These bytes as whoever has `key` signs them for `name`: what a machine writes to a server of our own. */
  async signedAs(name, bytes, key) {
    const server = await startServer();
    const level = openRedis({
      ...{ url: null, host: '127.0.0.1', port: server.port, milliseconds: 10_000, expirySeconds: null },
      ...{ key, trust: [] },
    });
    await level.set(name, bytes);
    level.close();
    server.close();
    return [...server.store.values()][0];
  }

  #environment(cache, more) {
    return {
      HOME: this.path,
      TMPDIR: join(this.path, 'tmp'),
      TORCHINDUCTOR_CACHE_DIR: join(this.path, cache),
      ...more,
    };
  }
}

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  await sleep(10);
  return port;
}
