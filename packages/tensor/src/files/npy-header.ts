// The header of an .npy file: a Python dict with exactly `descr`, `fortran_order` and `shape`. In: its text. Out: the three values as they
// are written, or an error of the file. The text is read once from left to right, whatever is in it, and never evaluated.
import { badFile } from '../errors.ts';

interface NpyHeader {
  readonly descr: string;
  readonly fortran: boolean;
  readonly shape: readonly number[];
}

type Value = string | boolean | readonly number[];

/** NumPy has at most 64 axes. */
const mostAxes = 64;
const names = ['descr', 'fortran_order', 'shape'] as const;

export function parseNpyHeader(text: string): NpyHeader {
  const entries = new Reader(text).dict();
  const [descr, fortran, shape] = names.map((name) => entries.get(name));
  const isComplete = typeof descr === 'string' && typeof fortran === 'boolean' && typeof shape === 'object';
  if (!isComplete || entries.size !== names.length)
    throw badFile('npy', 'the header does not have exactly descr, fortran_order and shape');
  return { descr, fortran, shape };
}

/** What a header may be written with. A position that only goes forward. */
class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  dict(): ReadonlyMap<string, Value> {
    const entries = new Map<string, Value>();
    this.#expect('{');
    while (!this.#takes('}')) {
      const name = this.#string();
      this.#expect(':');
      if (entries.has(name)) throw badFile('npy', `the header has ${JSON.stringify(name.slice(0, 40))} twice`);
      if (entries.size === names.length) throw this.#wrong();
      entries.set(name, this.#value());
      if (this.#takes(',')) continue;
      this.#expect('}');
      break;
    }
    this.#skipSpace();
    if (this.#at < this.#text.length) throw this.#wrong();
    return entries;
  }

  #value(): Value {
    this.#skipSpace();
    const next = this.#text[this.#at];
    if (next === "'" || next === '"') return this.#string();
    if (next === '(') return this.#tuple();
    if (this.#takes('True')) return true;
    if (this.#takes('False')) return false;
    throw this.#wrong();
  }

  /** Text in quotes, without escapes: neither a name nor a type has any. */
  #string(): string {
    this.#skipSpace();
    const quote = this.#text[this.#at];
    if (quote !== "'" && quote !== '"') throw this.#wrong();
    const end = this.#text.indexOf(quote, this.#at + 1);
    const text = this.#text.slice(this.#at + 1, end);
    if (end < 0 || text.includes('\\')) throw this.#wrong();
    this.#at = end + 1;
    return text;
  }

  #tuple(): readonly number[] {
    const sizes: number[] = [];
    this.#expect('(');
    while (!this.#takes(')')) {
      sizes.push(this.#size());
      if (sizes.length > mostAxes) throw badFile('npy', `the shape has more than ${String(mostAxes)} axes`);
      if (this.#takes(',')) continue;
      this.#expect(')');
      break;
    }
    return sizes;
  }

  /** Digits, behind which Python 2 wrote an L. */
  #size(): number {
    this.#skipSpace();
    const start = this.#at;
    while (/^[0-9]$/.test(this.#text[this.#at] ?? '')) this.#at += 1;
    const digits = this.#text.slice(start, this.#at);
    if (digits === '' || digits.length > 20) throw badFile('npy', `the shape is ${this.#rest(start)}`);
    if (this.#text[this.#at] === 'L') this.#at += 1;
    return Number(digits);
  }

  #expect(word: string): void {
    if (!this.#takes(word)) throw this.#wrong();
  }

  #takes(word: string): boolean {
    this.#skipSpace();
    if (!this.#text.startsWith(word, this.#at)) return false;
    this.#at += word.length;
    return true;
  }

  #skipSpace(): void {
    while (' \t\n\r\f\v'.includes(this.#text[this.#at] ?? '.')) this.#at += 1;
  }

  #rest(at: number): string {
    return this.#text.slice(at, at + 80).trim();
  }

  #wrong(): Error {
    return badFile(
      'npy',
      `the header is not a dict of descr, fortran_order and shape: at character ${String(this.#at)}, ${JSON.stringify(this.#rest(this.#at).slice(0, 40))}`,
    );
  }
}
