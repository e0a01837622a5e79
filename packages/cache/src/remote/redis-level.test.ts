// A Redis level: what it keeps, what it believes, and that nothing a server does costs more than its time.
import { afterEach, describe, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { generateKeyPairSync } from 'node:crypto';
import { join } from 'node:path';
import { place } from '../test-support/store-place.ts';
import { builtElsewhere, getOrClaim } from './farm.ts';
import { openRedis, placeOf } from './redis-level.ts';
import type { RedisOptions, RemoteLevel } from './redis-level.ts';
import { openEnvelope, openKeys, sealBytes, writeKeyPair } from './signature.ts';

interface StandIn {
  readonly port: number;
  readonly store: Map<string, Buffer>;
  readonly commands: readonly string[];
  readonly state: { way: string; delay: number; last: readonly Buffer[] };
  close(): void;
}

const { startServer } = (await import(new URL('../../test-support/resp-server.mjs', import.meta.url).href)) as {
  startServer: (options?: { way?: string; delay?: number }) => Promise<StandIn>;
};

const opened: { close(): void }[] = [];
afterEach(() => {
  for (const one of opened.splice(0)) one.close();
});

const bytes = Buffer.from('what was built');
const milliseconds = 400;

function keysIn(name: string): { readonly key: string; readonly trust: string } {
  const directory = join(place.root, 'keys');
  mkdirSync(directory, { recursive: true });
  return writeKeyPair(join(directory, name));
}

async function server(way = 'honest'): Promise<StandIn> {
  const started = await startServer({ way });
  opened.push(started);
  return started;
}

function level(port: number, more: Partial<RedisOptions> = {}): RemoteLevel {
  const one = openRedis({
    ...{ url: null, host: '127.0.0.1', port, milliseconds, expirySeconds: null, trust: [] },
    key: more.key === undefined ? keysIn(`own-${String(opened.length)}`).key : more.key,
    ...more,
  });
  opened.push(one);
  return one;
}

describe('values', () => {
  test('that one machine has signed are read by those who trust it', async () => {
    const { port, commands, store } = await server();
    const { key, trust } = keysIn('a');
    await level(port, { key }).set('fx:1', bytes);
    expect(await level(port, { key }).get('fx:1')).toEqual(bytes);
    expect(await level(port, { key: null, trust: [trust] }).get('fx:1')).toEqual(bytes);
    expect(await level(port, { key }).get('fx:2')).toBeUndefined();
    expect(commands[0]).toBe('SET tsinductor:fx:1');
    expect([...store.keys()]).toEqual(['tsinductor:fx:1']);
  });

  test('are not written by who has no key of its own', async () => {
    const { port, commands } = await server();
    await level(port, { key: null, trust: [keysIn('a').trust] }).set('fx:1', bytes);
    expect(commands).toEqual([]);
  });

  test('have the time for which the server keeps them', async () => {
    const { port, state } = await server();
    await level(port, { expirySeconds: 60 }).set('fx:1', bytes);
    expect(state.last.slice(3).map(String)).toEqual(['EX', '60']);
    await level(port, { expirySeconds: null }).set('fx:1', bytes);
    expect(state.last.slice(3)).toEqual([]);
  });
});

describe('what several machines need', () => {
  test('is made by the first that asks; the others get it when it is there', async () => {
    const { port } = await server();
    const { key } = keysIn('a');
    const [first, second] = [level(port, { key }), level(port, { key })];
    expect(await getOrClaim(first, 'fx:1', 60_000)).toBeUndefined();
    const waiting = getOrClaim(second, 'fx:1', 60_000);
    await first.set('fx:1', bytes);
    expect(await waiting).toEqual(bytes);
  });

  test('is made by the next one where the first has given it up, or has taken too long', async () => {
    const { port, store } = await server();
    const { key } = keysIn('a');
    const [first, second] = [level(port, { key }), level(port, { key })];
    await getOrClaim(first, 'fx:1', 60_000);
    expect(await getOrClaim(second, 'fx:1', 100)).toBeUndefined();
    const waiting = getOrClaim(second, 'fx:1', 60_000);
    store.delete('tsinductor:claim:fx:1');
    expect(await waiting).toBeUndefined();
  });

  test('is made here where there is no queue and nobody has claimed it', async () => {
    const { port } = await server();
    const { key } = keysIn('a');
    const options = { url: null, host: '127.0.0.1', port, milliseconds, expirySeconds: null, key, trust: [] };
    const warnings: Error[] = [];
    const warn = (error: Error): void => void warnings.push(error);
    const request = { key: 'ab'.repeat(16), name: 'fx:1', job: bytes, milliseconds: 60_000, warn };
    expect(await builtElsewhere(options, level(port, { key }), request)).toBeUndefined();
    expect(await level(port, { key }).isClaimed('fx:1')).toBe(true);
    expect(warnings).toEqual([]);
  });

  test('is made here where nobody may use the queue, which is told', async () => {
    const { port } = await server('no queue');
    const { key } = keysIn('a');
    const options = { url: null, host: '127.0.0.1', port, milliseconds: 60_000, expirySeconds: null, key, trust: [] };
    const warnings: Error[] = [];
    const warn = (error: Error): void => void warnings.push(error);
    const request = { key: 'ab'.repeat(16), name: 'fx:1', job: bytes, milliseconds: 60_000, warn };
    expect(await builtElsewhere(options, level(port, { key }), request)).toBeUndefined();
    expect(warnings).toEqual([
      expect.objectContaining({ code: 'REMOTE_CACHE_AWAY', message: expect.stringContaining('NOPERM') }),
    ]);
  });
});

describe('what is not believed', () => {
  const own = (): string => keysIn('own').key;

  test.each([
    [
      'of a key that is not trusted',
      (keys: { key: string; trust: string }) => sealBytes(openKeys({ key: keys.key, trust: [] }), 'fx:1', bytes),
    ],
    ['without a signature', () => bytes],
    ['of nothing', () => Buffer.alloc(0)],
  ] as const)('a value %s', async (_, valueOf) => {
    const { port, store } = await server();
    const value = valueOf(keysIn('stranger'));
    store.set('tsinductor:fx:1', value ?? Buffer.alloc(0));
    await expect(level(port, { key: own() }).get('fx:1')).rejects.toMatchObject({ code: 'REMOTE_CACHE_UNTRUSTED' });
  });

  test('any byte that is not as it was signed, and the value of another name', () => {
    const keys = openKeys({ key: own(), trust: [] });
    const envelope = sealBytes(keys, 'fx:1', bytes) ?? Buffer.alloc(0);
    expect(openEnvelope(keys, 'fx:1', envelope)).toEqual({ bytes });
    expect(openEnvelope(keys, 'fx:2', envelope)).toEqual({ reason: 'its signature does not fit' });
    expect(openEnvelope(keys, 'autotune:1', envelope)).toHaveProperty('reason');
    for (let position = 0; position < envelope.length; position += 1) {
      const changed = Buffer.from(envelope);
      changed[position] = (changed[position] ?? 0) ^ 1;
      expect(openEnvelope(keys, 'fx:1', changed)).toHaveProperty('reason');
      expect(openEnvelope(keys, 'fx:1', envelope.subarray(0, position))).toHaveProperty('reason');
    }
    expect(openEnvelope(keys, 'fx:1', Buffer.concat([envelope, Buffer.alloc(1)]))).toHaveProperty('reason');
  });
});

describe('keys', () => {
  test('that are no files, no keys, of another kind, or that others can write, are refused', () => {
    const { key, trust } = keysIn('a');
    expect(readFileSync(key, 'utf8')).toContain('PRIVATE KEY');
    const refused = expect.objectContaining({ code: 'REMOTE_KEY' });
    const made = (name: string, text: string | Buffer): string => {
      writeFileSync(join(place.root, name), text, { mode: 0o600 });
      return join(place.root, name);
    };
    const rsa = generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey.export({ type: 'pkcs8', format: 'pem' });
    const bad = [join(place.root, 'nowhere'), made('text', 'no key'), made('rsa', rsa), trust];
    for (const path of bad) expect(() => openKeys({ key: path, trust: [] })).toThrow(refused);
    expect(() => openKeys({ key: null, trust: [made('text', 'no key')] })).toThrow(refused);
    expect(() => writeKeyPair(key)).toThrow(refused);
    for (const mode of [0o666, 0o604]) {
      chmodSync(key, mode);
      expect(() => openKeys({ key, trust: [] })).toThrow(refused);
    }
    execFileSync('mkfifo', [join(place.root, 'pipe')]);
    expect(() => openKeys({ key: null, trust: [join(place.root, 'pipe')] })).toThrow(/no regular file/);
  });

  test('are read where a link leads to them, as secrets are mounted', () => {
    const { key, trust } = keysIn('a');
    symlinkSync(key, join(place.root, 'link'));
    symlinkSync(trust, join(place.root, 'link.pub'));
    const linked = openKeys({ key: join(place.root, 'link'), trust: [join(place.root, 'link.pub')] });
    expect([...linked.trusted.keys()]).toEqual([linked.own?.id]);
  });

  test('are written both or not at all', () => {
    const { key, trust } = keysIn('a');
    const before = readFileSync(trust);
    rmSync(key);
    expect(() => writeKeyPair(key)).toThrow(trust);
    expect([existsSync(key), readFileSync(trust)]).toEqual([false, before]);
  });
});

describe('a server that', () => {
  test.each(['silent', 'garbage', 'number', 'error', 'half', 'closes', 'endless'])(
    'is %s costs the time of a call, and the next call finds it well',
    async (way) => {
      const { port, state } = await server(way);
      const one = level(port);
      const started = performance.now();
      await expect(one.get('fx:1')).rejects.toMatchObject({ code: expect.stringMatching(/^REMOTE_CACHE_/) });
      expect(performance.now() - started).toBeLessThan(60_000);
      state.way = 'honest';
      expect(await one.get('fx:1')).toBeUndefined();
    },
    60_000,
  );

  test.each(['lists', 'nested', 'large'])('answers with %s beyond all bounds is cut off at once', async (way) => {
    const { port } = await server(way);
    await expect(level(port, { milliseconds: 60_000 }).get('fx:1')).rejects.toMatchObject({
      code: 'REMOTE_CACHE_AWAY',
      message: expect.stringContaining('closed'),
    });
  });

  test('is not there, or has a name that is none, is away', async () => {
    const { port, close } = await server();
    close();
    await expect(level(port).get('fx:1')).rejects.toMatchObject({ code: 'REMOTE_CACHE_AWAY' });
    await expect(level(1, { host: 'no.such.host.invalid' }).get('fx:1')).rejects.toMatchObject({
      code: 'REMOTE_CACHE_AWAY',
    });
    await expect(level(1, { url: 'no address' }).get('fx:1')).rejects.toMatchObject({ code: 'REMOTE_CACHE_AWAY' });
  });

  test('is full is read, and says so when it is written to', async () => {
    const { port } = await server('full');
    const one = level(port);
    await expect(one.set('fx:1', bytes)).rejects.toMatchObject({
      code: 'REMOTE_CACHE_AWAY',
      message: expect.stringContaining('OOM'),
    });
    expect(await one.get('fx:1')).toBeUndefined();
  });

  test('is named without its password', () => {
    expect(placeOf({ url: 'redis://user:secret@there:99', host: '', port: 1 })).toBe('there:99');
    expect(placeOf({ url: null, host: 'here', port: 1 })).toBe('here:1');
  });
});
