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
  if (Array.isArray(value)) return `[${value.map(stableStringify).join(',')}]`;
  const entries = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, member]) => `${JSON.stringify(key)}:${stableStringify(member)}`).join(',')}}`;
}

function stableNumber(value: number): string {
  if (Object.is(value, -0)) return '{"$number":"-0"}';
  return Number.isFinite(value) ? String(value) : `{"$number":"${String(value)}"}`;
}

/** SHA-256 of any plain value, through `stableStringify`. */
export const stableHash = (value: unknown): string => sha256(stableStringify(value));
