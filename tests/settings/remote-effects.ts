// The effects of the settings of what machines share: what a stand-in for a Redis server, in a process of its own, is asked and given. Two
// cache directories are two machines.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { writeKeyPair } from '@tsinductor/cache';
import { full, reset, setConfig } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { leaveEntry } from './caching-effects.ts';
import { freshDirectory, reportOf, warningsOf } from './effect.ts';
import type { Effect, Options } from './effect.ts';
import { measuredUnder, restored, tunedUnder } from './tuning-effects.ts';

interface Server {
  readonly options: Options;
  readonly port: number;
  /** Its commands so far, with the kinds of their names: `GET fx`. */
  asked(): readonly string[];
}

const program = join(import.meta.dirname, '../../packages/cache/test-support/resp-server.mjs');
const addOne = (x: Tensor): Tensor => x.add(1);

/** How another machine's call of the same function comes by its code. */
function originOn(options: Options): string | undefined {
  reset();
  const { origin } = reportOf(addOne, [full([3], 1)], { cacheDir: freshDirectory(), compileThreads: 1, ...options });
  return origin;
}

const newKey = (): { readonly key: string; readonly trust: string } => writeKeyPair(join(freshDirectory(), 'key'));

/** An effect with a server that goes with it. */
const withServer =
  (effect: (server: Server) => void | Promise<void>, way = 'honest'): Effect =>
  async () => {
    const log = join(freshDirectory(), 'log');
    const server = spawn(process.execPath, [program, way, log], { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
    try {
      const [text] = (await once(server.stdout ?? server, 'data')) as [Buffer];
      const port = Number(text.toString());
      const options = {
        fxGraphRemoteCache: true,
        redisHost: '127.0.0.1',
        redisPort: port,
        remoteCacheKey: newKey().key,
        remoteCacheTimeout: 60_000,
        nonBlockingRemoteCacheWrite: false,
      };
      const asked = (): readonly string[] =>
        (existsSync(log) ? readFileSync(log, 'utf8') : '').split('\n').flatMap((line) => {
          const [, command, kind] = /^(\w+) tsinductor:([a-z-]+):/.exec(line) ?? [];
          return command === undefined ? [] : [`${command} ${kind ?? ''}`];
        });
      await effect({ options, port, asked });
    } finally {
      reset();
      server.kill();
    }
  };

/** The settings of graphs do not share measurements. */
const tuning = ({ fxGraphRemoteCache: _, ...options }: Options): Options => ({ ...options, autotuneRemoteCache: true });

const tunedOn = (options: Options): number => measuredUnder({ autotuneCacheDir: freshDirectory(), ...options });

/** What no effect of measurements leaves behind. */
const tuningDefaults = {
  autotuneRemoteCache: null,
  bundledAutotuneRemoteCache: null,
  remoteGemmAutotuneCache: false,
  nonBlockingRemoteCacheWrite: true,
  redisHost: 'localhost',
  redisPort: 6379,
  remoteCacheKey: null,
  remoteCacheTimeout: 500,
};

export const remoteEffects = {
  fxGraphRemoteCache: withServer(({ options, asked }) => {
    expect([originOn(options), originOn(options)]).toEqual(['built', 'remote']);
    expect(asked()).toEqual(['GET fx', 'SET fx', 'GET fx']);
    for (const fxGraphRemoteCache of [false, null]) expect(originOn({ ...options, fxGraphRemoteCache })).toBe('built');
    expect(originOn({ ...options, forceDisableCaches: true })).toBe('built');
    expect(asked()).toHaveLength(3);
    // A machine that only fetches keeps its cache within its bounds, too.
    const bounded = freshDirectory();
    const old = leaveEntry(bounded);
    expect([originOn({ ...options, cacheDir: bounded }), existsSync(old)]).toEqual(['remote', false]);
    expect(asked().slice(3)).toEqual(['GET fx']);
    // What is on disk is not asked for; what is built again is written again.
    const cacheDir = freshDirectory();
    expect([originOn({ ...options, cacheDir }), originOn({ ...options, cacheDir })]).toEqual(['remote', 'disk']);
    expect(originOn({ ...options, cacheDir, forceRecompile: true })).toBe('built');
    expect(asked().slice(4)).toEqual(['GET fx', 'SET fx']);
  }),
  compileFarm: withServer(({ options, asked }) => {
    const farm = { ...options, compileFarm: true };
    expect([originOn(options), asked().filter((command) => command.endsWith(' claim'))]).toEqual(['built', []]);
    // No other machine builds it, so this one says that it does, and others would wait for it.
    const name = asked().length;
    expect(originOn({ ...farm, 'cpp.optimizationFlag': '-O1' })).toBe('built');
    expect(
      asked()
        .slice(name)
        .filter((command) => command !== 'GET fx'),
    ).toEqual(['SET claim', 'SET fx']);
    expect(originOn({ ...farm, 'cpp.optimizationFlag': '-O1' })).toBe('remote');
    expect(originOn({ ...farm, 'cpp.optimizationFlag': '-O1', forceRecompile: true })).toBe('built');
  }),
  nonBlockingRemoteCacheWrite: withServer(({ options }) => {
    // A server that is full: who waits for its answer hears of it.
    const said = (nonBlockingRemoteCacheWrite: boolean): readonly string[] =>
      warningsOf(() => originOn({ ...options, nonBlockingRemoteCacheWrite }));
    expect([said(false), said(true)]).toEqual([['REMOTE_CACHE_AWAY'], []]);
  }, 'full'),
  autotuneRemoteCache: restored(
    withServer(({ options, asked }) => {
      const shared = tuning(options);
      expect([tunedOn(shared), tunedOn(shared)]).toEqual([2, 0]);
      expect(asked()).toEqual(['GET autotune', 'SET autotune', 'GET autotune']);
      expect(tunedOn({ ...shared, autotuneRemoteCache: false })).toBe(2);
      // Without files of its own, too.
      expect(tunedOn({ ...shared, autotuneLocalCache: false })).toBe(0);
      expect(asked().slice(3)).toEqual(['GET autotune']);
    }),
    tuningDefaults,
  ),
  remoteGemmAutotuneCache: restored(
    withServer(({ options }) => {
      const shared = { ...tuning(options), autotuneRemoteCache: null };
      const decided = (remoteGemmAutotuneCache: boolean): string => {
        reset();
        setConfig({ ...shared, remoteGemmAutotuneCache });
        return tunedUnder({ maxAutotuneGemm: true, maxAutotuneReportChoicesStats: false }).decisions.join();
      };
      expect(decided(true)).toContain('measured now');
      expect(decided(true)).toContain('measured before');
      expect(decided(false)).toContain('measured now');
      const own = { ...shared, remoteGemmAutotuneCache: true };
      expect([tunedOn(own), tunedOn(own)]).toEqual([2, 2]);
    }),
    tuningDefaults,
  ),
  bundledAutotuneRemoteCache: restored(
    withServer(({ options, asked }) => {
      const bundled = { ...tuning(options), bundledAutotuneRemoteCache: true };
      expect([tunedOn(bundled), tunedOn(bundled)]).toEqual([2, 0]);
      const kinds = asked();
      expect([kinds.includes('SET autotune-bundle'), kinds.some((kind) => kind.endsWith(' autotune'))]).toEqual([
        true,
        false,
      ]);
      expect(tunedOn({ ...bundled, autotuneLocalCache: false })).toBe(2);
      expect(asked()).toContain('SET autotune');
    }),
    tuningDefaults,
  ),
  redisUrl: withServer(({ options, port }) => {
    const redisUrl = `redis://127.0.0.1:${String(port)}`;
    expect(originOn(options)).toBe('built');
    expect(originOn({ ...options, redisPort: 1, redisUrl })).toBe('remote');
  }),
  redisHost: withServer(({ options }) => {
    expect(originOn(options)).toBe('built');
    // Another address of this machine, at which nobody listens.
    const codes = warningsOf(() => {
      expect(originOn({ ...options, redisHost: '127.0.0.9' })).toBe('built');
    });
    expect([codes, originOn(options)]).toEqual([['REMOTE_CACHE_AWAY'], 'remote']);
  }),
  redisPort: withServer(({ options }) => {
    expect(originOn(options)).toBe('built');
    const codes = warningsOf(() => {
      expect(originOn({ ...options, redisPort: 1 })).toBe('built');
    });
    expect([codes, originOn(options)]).toEqual([['REMOTE_CACHE_AWAY'], 'remote']);
  }),
  remoteCacheKey: withServer(({ options, asked }) => {
    const remoteCacheTrust = [newKey().trust];
    expect(originOn({ ...options, remoteCacheKey: null, remoteCacheTrust })).toBe('built');
    expect(asked()).toEqual(['GET fx']);
    for (const remoteCacheKey of [null, join(freshDirectory(), 'no key')])
      expect(warningsOf(() => originOn({ ...options, remoteCacheKey }))).toEqual(['REMOTE_KEY']);
    expect(asked()).toEqual(['GET fx']);
  }),
  remoteCacheTrust: withServer(({ options }) => {
    const { key, trust } = newKey();
    expect(originOn({ ...options, remoteCacheKey: key })).toBe('built');
    const codes = warningsOf(() => {
      // It is built here, and signed anew.
      expect(originOn({ ...options, remoteCacheKey: null, remoteCacheTrust: [newKey().trust] })).toBe('built');
    });
    expect(codes).toEqual(['REMOTE_CACHE_UNTRUSTED']);
    expect(originOn({ ...options, remoteCacheTrust: [trust] })).toBe('remote');
  }),
  remoteCacheTimeout: withServer(({ options }) => {
    const said: string[] = [];
    const { emitWarning } = process;
    process.emitWarning = (message: unknown): void => void said.push(String(message));
    try {
      expect(originOn({ ...options, remoteCacheTimeout: 77 })).toBe('built');
    } finally {
      process.emitWarning = emitWarning;
    }
    expect(said.join()).toContain('no answer within 77 ms');
  }, 'silent'),
} satisfies Record<string, Effect>;
