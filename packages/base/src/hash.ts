// Stable hashing: equal values give equal digests in every process, whatever the order of an object's keys.
import { createHash } from 'node:crypto';

/** SHA-256 of text or bytes, as 64 hex digits. */
export const sha256 = (data: string | Uint8Array): string => createHash('sha256').update(data).digest('hex');

/**
 * JSON with sorted object keys. Numbers that JSON cannot write (NaN, infinities, -0) and bigints are tagged, so that
 * different values never print alike. `undefined` members are left out.
 */
export function stableStringify(value: unknown): string {
  const writer = new StableWriter();
  writer.write(value);
  return writer.text;
}

/** The members of objects that have the same keys in the same order. */
interface Shape {
  readonly next: Map<string, Shape>;
  members: readonly Member[] | undefined;
}

interface Member {
  readonly key: string;
  /** The key as it is written, with its colon. */
  readonly opening: string;
}

const emptyShape = (): Shape => ({ next: new Map(), members: undefined });

/** Large values are thousands of objects of a few shapes, over a few strings: each is sorted, or quoted, once. */
class StableWriter {
  text = '';
  readonly #shapes = emptyShape();
  readonly #quoted = new Map<string, string>();

  write(value: unknown): void {
    if (typeof value === 'string') this.text += this.#quote(value);
    else if (typeof value === 'number') this.text += stableNumber(value);
    else if (typeof value === 'bigint') this.text += `{"$bigint":"${String(value)}"}`;
    else if (value === undefined || typeof value === 'function' || typeof value === 'symbol')
      this.text += '{"$undefined":1}';
    else if (typeof value === 'boolean') this.text += value ? 'true' : 'false';
    else if (value === null) this.text += 'null';
    else if (Array.isArray(value)) this.#writeArray(value);
    else this.#writeObject(value as Readonly<Record<string, unknown>>);
  }

  #writeArray(values: readonly unknown[]): void {
    let separator = '[';
    for (const value of values) {
      this.text += separator;
      separator = ',';
      this.write(value);
    }
    this.text += values.length === 0 ? '[]' : ']';
  }

  #writeObject(value: Readonly<Record<string, unknown>>): void {
    let separator = '{';
    for (const { key, opening } of this.#membersOf(value)) {
      const member = value[key];
      if (member === undefined) continue;
      this.text += separator;
      this.text += opening;
      separator = ',';
      this.write(member);
    }
    this.text += separator === '{' ? '{}' : '}';
  }

  #membersOf(value: Readonly<Record<string, unknown>>): readonly Member[] {
    const keys = Object.keys(value);
    let shape = this.#shapes;
    for (const key of keys) {
      let next = shape.next.get(key);
      if (next === undefined) {
        next = emptyShape();
        shape.next.set(key, next);
      }
      shape = next;
    }
    shape.members ??= keys.sort().map((key) => ({ key, opening: `${JSON.stringify(key)}:` }));
    return shape.members;
  }

  #quote(value: string): string {
    const known = this.#quoted.get(value);
    if (known !== undefined) return known;
    const quoted = JSON.stringify(value);
    this.#quoted.set(value, quoted);
    return quoted;
  }
}

function stableNumber(value: number): string {
  if (Object.is(value, -0)) return '{"$number":"-0"}';
  return Number.isFinite(value) ? String(value) : `{"$number":"${String(value)}"}`;
}

/** SHA-256 of any plain value, through `stableStringify`. */
export const stableHash = (value: unknown): string => sha256(stableStringify(value));
