// Signatures of what machines share. What is in a remote cache is code, and whoever can write to the server can put anything there: so
// only what somebody has signed whom this machine trusts is believed, and nothing of the rest is looked into. In: files of keys, names,
// bytes. Out: the same bytes in an envelope, and back.
//
// An envelope is the eight bytes of `magic`, the digest of the public key, the Ed25519 signature, and the bytes. What is signed is the name
// under which they are kept, and the bytes: an envelope of another name is none.
import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { isTsInductorError } from '@tsinductor/base';
import { badSigningKey } from '../errors.ts';

/** Who signs here, and whose signatures are believed. */
export interface SigningKeys {
  /** Undefined where nothing is written to the server. */
  readonly own: { readonly id: string; readonly key: KeyObject } | undefined;
  /** Public keys by the digests that name them. */
  readonly trusted: ReadonlyMap<string, KeyObject>;
}

/** Paths of PEM files: a private key, whose public part is trusted, and public keys that are trusted besides. */
export interface KeyFiles {
  readonly key: string | null;
  readonly trust: readonly string[];
}

const magic = Buffer.from('TSIREMO1');
const idBytes = 32;
const signatureBytes = 64;
const headBytes = magic.length + idBytes + signatureBytes;
const writableToOthers = 0o022;
const readableToAll = 0o004;

/** Reads keys. Throws UserError REMOTE_KEY for files that are none, that others can write, or of which everybody can read a private key. */
export function openKeys({ key, trust }: KeyFiles): SigningKeys {
  const trusted = new Map<string, KeyObject>();
  const add = (found: KeyObject): string => {
    const id = digestOf(found);
    trusted.set(id, found);
    return id;
  };
  const own = key === null ? undefined : readKey(key, 'private');
  const id = own === undefined ? '' : add(createPublicKey(own));
  for (const path of trust) add(readKey(path, 'public'));
  return { own: own === undefined ? undefined : { id, key: own }, trusted };
}

function readKey(path: string, kind: 'private' | 'public'): KeyObject {
  try {
    const reason = whyNotTrusted(path, kind);
    if (reason !== undefined) throw badSigningKey(path, reason);
    const text = readFileSync(path);
    const key = kind === 'private' ? createPrivateKey(text) : createPublicKey(text);
    if (key.asymmetricKeyType === 'ed25519') return key;
  } catch (cause) {
    throw isTsInductorError(cause) ? cause : badSigningKey(path, String(cause), cause);
  }
  throw badSigningKey(path, `it is no Ed25519 ${kind} key`);
}

/** Why somebody else may have written a key, or can read one that is private; of a symbolic link, that to which it leads counts. */
function whyNotTrusted(path: string, kind: 'private' | 'public'): string | undefined {
  const status = statSync(path);
  const { mode, uid } = status;
  if (!status.isFile()) return 'it is no regular file';
  if (process.geteuid !== undefined && uid !== 0 && uid !== process.geteuid()) return 'it belongs to another user';
  if ((mode & writableToOthers) !== 0) return 'others can write it';
  return kind === 'private' && (mode & readableToAll) !== 0 ? 'every user of this machine can read it' : undefined;
}

const digestOf = (key: KeyObject): string =>
  createHash('sha256')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest('hex');

/** Writes a new pair: the private key to `path`, and the public one to `path`.pub; neither may exist. Throws UserError REMOTE_KEY. */
export function writeKeyPair(path: string): { readonly key: string; readonly trust: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const trust = `${path}.pub`;
  write(path, { text: privateKey.export({ type: 'pkcs8', format: 'pem' }), mode: 0o600 });
  try {
    write(trust, { text: publicKey.export({ type: 'spki', format: 'pem' }), mode: 0o644 });
  } catch (error) {
    rmSync(path, { force: true });
    throw error;
  }
  return { key: path, trust };
}

function write(path: string, { text, mode }: { readonly text: string | Buffer; readonly mode: number }): void {
  try {
    writeFileSync(path, text, { mode, flag: 'wx' });
  } catch (cause) {
    throw badSigningKey(path, String(cause), cause);
  }
}

/** The bytes in an envelope; undefined where nobody signs here. */
export function sealBytes({ own }: SigningKeys, name: string, bytes: Uint8Array): Buffer | undefined {
  if (own === undefined) return undefined;
  const signature = sign(null, messageOf(name, bytes), own.key);
  return Buffer.concat([magic, Buffer.from(own.id, 'hex'), signature, bytes]);
}

/** What was sealed under this name, or why it is not believed. */
export function openEnvelope(
  { trusted }: SigningKeys,
  name: string,
  envelope: Buffer,
): { readonly bytes: Buffer } | { readonly reason: string } {
  if (envelope.length < headBytes || !envelope.subarray(0, magic.length).equals(magic))
    return { reason: 'it is no signed entry' };
  const id = envelope.subarray(magic.length, magic.length + idBytes).toString('hex');
  const key = trusted.get(id);
  if (key === undefined) return { reason: `it is signed with a key that is not trusted: ${id.slice(0, 16)}` };
  const bytes = envelope.subarray(headBytes);
  const signature = envelope.subarray(magic.length + idBytes, headBytes);
  if (!verify(null, messageOf(name, bytes), key, signature)) return { reason: 'its signature does not fit' };
  return { bytes };
}

const messageOf = (name: string, bytes: Uint8Array): Buffer =>
  Buffer.concat([Buffer.from(`tsinductor remote entry\n${name}\n`), bytes]);
