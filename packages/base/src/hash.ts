// Stable hashing: equal values give equal digests in every process, whatever the order of an object's keys.
import { createHash } from 'node:crypto';

/** SHA-256 of text or bytes, as 64 hex digits. */
export const sha256 = (data: string | Uint8Array): string => createHash('sha256').update(data).digest('hex');

/**
 * JSON with sorted object keys. Numbers that JSON cannot write (NaN, infinities, -0) and bigints are tagged, so that
 * different values never print alike. `undefined` members are left out.
 */
export function stableStringify(value: unknown): string {
  if (typeof value === 'number') return stableNumber(value);
  if (typeof value === 'bigint') return `{"$bigint":"${String(value)}"}`;
  if (value === undefined || typeof value === 'function' || typeof value === 'symbol') return '{"$undefined":1}';
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  return Array.isArray(value) ? stableArray(value) : stableObject(value as Readonly<Record<string, unknown>>);
}

function stableObject(value: Readonly<Record<string, unknown>>): string {
  let text = '{';
  for (const key of Object.keys(value).sort()) {
    const member = value[key];
    if (member === undefined) continue;
    text += `${text === '{' ? '' : ','}"${plainKey.test(key) ? key : escaped(key)}":${stableStringify(member)}`;
  }
  return `${text}}`;
}

function stableArray(values: readonly unknown[]): string {
  let text = '[';
  for (const value of values) text += `${text === '[' ? '' : ','}${stableStringify(value)}`;
  return `${text}]`;
}

/** Most keys are names, which JSON writes as they are. */
const plainKey = /^\w*$/;
const escaped = (key: string): string => JSON.stringify(key).slice(1, -1);

function stableNumber(value: number): string {
  if (Object.is(value, -0)) return '{"$number":"-0"}';
  return Number.isFinite(value) ? String(value) : `{"$number":"${String(value)}"}`;
}

/** SHA-256 of any plain value, through `stableStringify`. */
export const stableHash = (value: unknown): string => sha256(stableStringify(value));
