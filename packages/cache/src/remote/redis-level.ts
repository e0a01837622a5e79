// A Redis server that machines share, as a level below the cache on disk. In: names and bytes. Out: bytes that somebody has signed whom
// this machine trusts, or nothing.
//
// Nothing depends on the server: each call ends within its time, whatever the server does. One that is away, slow, full or speaks nonsense
// is an error with a code, and the connection to it is given up; the next call makes another. Bytes without end are cut off where no entry
// could be larger.
import type * as ioredis from 'ioredis';
import { isTsInductorError } from '@tsinductor/base';
import { remoteAway, remotePackageMissing, remoteUntrusted } from '../errors.ts';
import { ReplyBounds, mostBytes } from './reply-bounds.ts';
import { openEnvelope, openKeys, sealBytes } from './signature.ts';
import type { KeyFiles, SigningKeys } from './signature.ts';

export interface RedisOptions extends KeyFiles {
  /** `redis://` or `rediss://` with host, port, user and password; null where host and port say it. */
  readonly url: string | null;
  readonly host: string;
  readonly port: number;
  /** How long each call may take. */
  readonly milliseconds: number;
  /** How long the server keeps what nobody writes again; null for ever. */
  readonly expirySeconds: number | null;
}

export interface RemoteLevel {
  /**
   * What is kept under a name; undefined where there is nothing. Rejects with a ToolchainError: REMOTE_CACHE_AWAY where the server does
   * not answer as it should, REMOTE_CACHE_UNTRUSTED for what nobody has signed whom we trust, REMOTE_CACHE_PACKAGE without ioredis.
   */
  get(name: string): Promise<Buffer | undefined>;
  /** Keeps bytes under a name; nothing where nobody signs here. Rejects as `get` does. */
  set(name: string, bytes: Uint8Array): Promise<void>;
  /** Says that this machine makes what will be under a name, for so many seconds; false where another has said so. Rejects as `get`. */
  claim(name: string, seconds: number): Promise<boolean>;
  /** Whether some machine has claimed a name. Rejects as `get`. */
  isClaimed(name: string): Promise<boolean>;
  /** Gives up the connection. */
  close(): void;
}

const prefix = 'tsinductor:';
const claimPrefix = `${prefix}claim:`;

/** Opens the level; connects when it is first asked. Throws UserError REMOTE_KEY for keys that cannot be read, or where there are none. */
export const openRedis = (options: RedisOptions): RemoteLevel => new RedisLevel(options, openKeys(options));

class RedisLevel implements RemoteLevel {
  readonly #options: RedisOptions;
  readonly #keys: SigningKeys;
  #connection: Promise<Connection> | undefined;

  constructor(options: RedisOptions, keys: SigningKeys) {
    this.#options = options;
    this.#keys = keys;
  }

  async get(name: string): Promise<Buffer | undefined> {
    const found = await this.#call(({ redis }) => redis.getBuffer(prefix + name) as Promise<unknown>);
    if (found === null) return undefined;
    if (!Buffer.isBuffer(found)) throw remoteAway(placeOf(this.#options), 'it answers what is no value');
    const opened = openEnvelope(this.#keys, name, found);
    if ('reason' in opened) throw remoteUntrusted(name, opened.reason);
    return opened.bytes;
  }

  async set(name: string, bytes: Uint8Array): Promise<void> {
    const { expirySeconds } = this.#options;
    if (bytes.length > mostBytes) return;
    const envelope = sealBytes(this.#keys, name, bytes);
    if (envelope === undefined) return;
    await this.#call(({ redis }) =>
      expirySeconds === null
        ? redis.set(prefix + name, envelope)
        : redis.set(prefix + name, envelope, 'EX', expirySeconds),
    );
  }

  async claim(name: string, seconds: number): Promise<boolean> {
    const answer = await this.#call(({ redis }) => redis.set(claimPrefix + name, '', 'EX', seconds, 'NX'));
    return answer === 'OK';
  }

  async isClaimed(name: string): Promise<boolean> {
    return (await this.#call(({ redis }) => redis.exists(claimPrefix + name))) > 0;
  }

  close(): void {
    const connection = this.#connection;
    this.#connection = undefined;
    connection?.then(
      ({ redis }) => {
        cut(redis);
      },
      () => undefined,
    );
  }

  /** One command, within its time. */
  async #call<T>(command: (connection: Connection) => Promise<T>): Promise<T> {
    // Loading what speaks with the server is not the server's time.
    await loadPackage();
    const answered = async (): Promise<T> => {
      const connection = await (this.#connection ??= connect(this.#options));
      connection.received = 0;
      return await command(connection);
    };
    try {
      return await within(this.#options, answered());
    } catch (error) {
      this.close();
      throw failureOf(this.#options, error);
    }
  }
}

/** An answer, within what one call may take. Rejects with REMOTE_CACHE_AWAY where it is late. */
export async function within<T>(options: RedisOptions, answer: Promise<T>): Promise<T> {
  const { milliseconds } = options;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(remoteAway(placeOf(options), `no answer within ${String(milliseconds)} ms`));
    }, milliseconds);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** What went wrong, as an error with a code; `effect` is what follows from it. */
export const failureOf = (options: RedisOptions, error: unknown, effect: string = ''): Error =>
  isTsInductorError(error) ? error : remoteAway(placeOf(options), effect + messageOf(error), error);

/** Where the server is, without a password. */
export function placeOf({ url, host, port }: Pick<RedisOptions, 'url' | 'host' | 'port'>): string {
  if (url === null) return `${host}:${String(port)}`;
  try {
    return new URL(url).host;
  } catch {
    return 'the address that redisUrl gives';
  }
}

const messageOf = (error: unknown): string => String((error as { message?: unknown } | null)?.message ?? error);

/** Ends a connection at once: what the server still sends is not waited for. */
export function cut(redis: ioredis.Redis): void {
  // Of a stream that has ended already, the library would wait for the end.
  const stream = redis.stream as typeof redis.stream | undefined;
  if (stream?.destroyed !== true) redis.disconnect();
  stream?.destroy();
}

interface Connection {
  readonly redis: ioredis.Redis;
  /** Bytes since the last command. */
  received: number;
}

async function loadPackage(): Promise<Pick<typeof ioredis, 'Redis'>> {
  try {
    const { Redis } = await import('ioredis');
    return { Redis };
  } catch (cause) {
    throw remotePackageMissing(cause);
  }
}

/** In what connections differ, by their names in ioredis. */
interface ConnectionSettings {
  readonly maxRetriesPerRequest: number | null;
  readonly lazyConnect?: boolean;
  readonly enableOfflineQueue?: boolean;
  readonly retryStrategy?: () => number | null;
}

/** A client that has not connected yet. What it says of itself goes to `said`; failures arrive with the command that fails. */
export async function makeRedis(
  { url, host, port, milliseconds }: RedisOptions,
  more: ConnectionSettings,
  said: (error: unknown) => void = () => undefined,
): Promise<ioredis.Redis> {
  const { Redis } = await loadPackage();
  const settings = {
    protocol: 2,
    connectTimeout: milliseconds,
    enableReadyCheck: false,
    disableClientInfo: true,
    retryStrategy: (): number | null => null,
    ...more,
  } as const;
  const redis = url === null ? new Redis({ ...settings, host, port }) : new Redis(url, settings);
  redis.on('error', said);
  redis.on('connect', () => {
    holdWithin(redis);
  });
  return redis;
}

/** What is beyond the bounds of an answer ends the connection, and is not looked into. */
function holdWithin(redis: ioredis.Redis): void {
  const { stream } = redis;
  const bounds = new ReplyBounds();
  const listeners = stream.listeners('data') as ((chunk: Buffer) => void)[];
  stream.removeAllListeners('data');
  stream.on('data', (chunk: Buffer) => {
    if (stream.destroyed) return;
    if (bounds.accepts(chunk)) for (const listener of listeners) listener.call(stream, chunk);
    else stream.destroy(new Error('it answers with more than anybody asked for'));
  });
}

async function connect(options: RedisOptions): Promise<Connection> {
  let said: unknown;
  const more = { lazyConnect: true, maxRetriesPerRequest: 0, enableOfflineQueue: false };
  const redis = await makeRedis(options, more, (error) => {
    said = error;
  });
  // Of a connection that fails, the event says more than the promise.
  await redis.connect().catch((error: unknown) => {
    throw said ?? error;
  });
  const connection: Connection = { redis, received: 0 };
  redis.stream.on('data', (chunk: Buffer) => {
    connection.received += chunk.length;
    if (connection.received > 2 * mostBytes) cut(redis);
  });
  return connection;
}
