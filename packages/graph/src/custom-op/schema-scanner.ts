// The words of a custom op's schema, one after the other, and the error that points at one of them. In: the text of a
// schema. Out: tokens with their places. It knows words only; what may stand where is said by op-schema.ts.
import { badOpSchema } from '../errors.ts';

export interface Token {
  readonly kind: 'name' | 'sign' | 'value' | 'end';
  readonly text: string;
  /** Where it begins in the text. */
  readonly from: number;
}

const maximumLength = 2000;
const namePattern = /[A-Za-z_]\w*/y;
const signPattern = /->|[()[\],*=?!]/y;
/** What may stand after `=`: a text, a list, or anything up to the next comma or bracket. */
const valuePattern = /'[^']*'|"[^"]*"|\[[^\]]*\]|[^,()\s]+/y;

export class SchemaScanner {
  readonly #op: string;
  readonly #text: string;
  #at = 0;

  constructor(op: string, text: string) {
    this.#op = op;
    this.#text = text;
    if (text.length > maximumLength)
      this.fail(this.first, `more than ${String(maximumLength)} characters`, 'shorten it');
  }

  /** The whole of a text, for what is wrong with all of it. */
  readonly first: Token = { kind: 'end', text: '', from: 0 };

  /** The next word, which stays. */
  peek(): Token {
    this.#skipSpace();
    const from = this.#at;
    if (from >= this.#text.length) return { kind: 'end', text: '', from };
    const name = this.#match(namePattern);
    if (name !== undefined) return { kind: 'name', text: name, from };
    return {
      kind: 'sign',
      text: this.#match(signPattern) ?? String.fromCodePoint(this.#text.codePointAt(from) ?? 0),
      from,
    };
  }

  /** Takes the next word if it is `sign`. */
  takes(sign: string): boolean {
    const token = this.peek();
    if (token.kind !== 'sign' || token.text !== sign) return false;
    this.#at = token.from + sign.length;
    return true;
  }

  expect(sign: string, hint: string): void {
    if (!this.takes(sign)) this.fail(this.peek(), `${sign} is missing`, hint);
  }

  /** Takes a name. */
  name(hint: string): Token {
    const token = this.peek();
    if (token.kind !== 'name') return this.fail(token, 'a name is missing', hint);
    this.#at = token.from + token.text.length;
    return token;
  }

  /** Takes what stands after `=`. */
  value(): Token {
    this.#skipSpace();
    const from = this.#at;
    const text = this.#match(valuePattern);
    if (text === undefined) return this.fail(this.peek(), 'a default is missing', 'write one after the = sign');
    this.#at += text.length;
    return { kind: 'value', text, from };
  }

  end(): void {
    const token = this.peek();
    if (token.kind !== 'end') this.fail(token, 'the schema goes on after its end', 'leave the rest away');
  }

  fail({ text, from }: Token, what: string, hint: string): never {
    throw badOpSchema(this.#op, { text: this.#text, from, length: text.length, what }, hint);
  }

  #skipSpace(): void {
    while (/\s/.test(this.#text.charAt(this.#at))) this.#at += 1;
  }

  #match(pattern: RegExp): string | undefined {
    const sticky = new RegExp(pattern);
    sticky.lastIndex = this.#at;
    return sticky.exec(this.#text)?.[0];
  }
}
