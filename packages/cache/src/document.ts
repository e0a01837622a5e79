// A JSON value with its own digest. In: a plain value. Out: bytes; and back, or undefined for any bytes that are not
// exactly what was written: text is compared byte for byte with the canonical form of what it says, so that no flipped
// bit passes, not even in white space.
import { sha256, stableStringify } from '@tsinductor/base';

/** The canonical bytes of a value. */
export const encodeDocument = (value: unknown): Buffer =>
  Buffer.from(`${stableStringify({ digest: sha256(stableStringify(value)), value })}\n`);

/** The value in the bytes, or undefined. */
export function decodeDocument(bytes: Buffer): unknown {
  let parsed: { value?: unknown } | null;
  try {
    parsed = JSON.parse(bytes.toString('utf8')) as { value?: unknown } | null;
  } catch {
    return undefined;
  }
  const value = parsed?.value;
  return value !== undefined && encodeDocument(value).equals(bytes) ? value : undefined;
}
