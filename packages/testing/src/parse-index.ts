// Index expressions from text, for tests: `(i * 4 + j) / 4`. In: the text and the extents of its axes. Names that are
// axes there are axes, `s0`, `s1` ... are sizes (at least 1), `ceil(a, b)`, `min(a, b)` and `max(a, b)` are functions.
import { InternalError } from '@tsinductor/base';
import {
  add,
  axisIndex,
  ceilDivide,
  floorDivide,
  int,
  maximum,
  minimum,
  modulo,
  multiply,
  sizeSymbol,
  subtract,
} from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';

/** Extents of axes by name: numbers, or text such as `s0 * 2`. */
export type Extents = Readonly<Record<string, number | string>>;

const functions: Readonly<Record<string, (a: Index, b: Index) => Index>> = {
  min: minimum,
  max: maximum,
  ceil: ceilDivide,
};

class Parser {
  readonly #tokens: readonly string[];
  readonly #extents: Extents;
  #position = 0;

  constructor(text: string, extents: Extents) {
    this.#tokens = text.match(/[A-Za-z_]\w*|\d+|[-+*/%(),]/g) ?? [];
    this.#extents = extents;
  }

  whole(): Index {
    const index = this.#sum();
    if (this.#position < this.#tokens.length) throw this.#unexpected();
    return index;
  }

  #next(): string | undefined {
    return this.#tokens[this.#position];
  }

  #take(...allowed: readonly string[]): string | undefined {
    const token = this.#next();
    if (token === undefined || !allowed.includes(token)) return undefined;
    this.#position += 1;
    return token;
  }

  #expect(token: string): void {
    if (this.#take(token) === undefined) throw this.#unexpected();
  }

  #unexpected(): InternalError {
    return new InternalError('TEST_PARSE', `unexpected ${this.#next() ?? 'end'} in ${this.#tokens.join(' ')}`);
  }

  #sum(): Index {
    let left = this.#product();
    for (let token = this.#take('+', '-'); token !== undefined; token = this.#take('+', '-')) {
      left = (token === '+' ? add : subtract)(left, this.#product());
    }
    return left;
  }

  #product(): Index {
    let left = this.#atom();
    for (let token = this.#take('*', '/', '%'); token !== undefined; token = this.#take('*', '/', '%')) {
      left = (token === '*' ? multiply : token === '/' ? floorDivide : modulo)(left, this.#atom());
    }
    return left;
  }

  #atom(): Index {
    if (this.#take('-') !== undefined) return multiply(int(-1), this.#atom());
    if (this.#take('(') !== undefined) {
      const inner = this.#sum();
      this.#expect(')');
      return inner;
    }
    const token = this.#next();
    if (token === undefined || !/^\w/.test(token)) throw this.#unexpected();
    this.#position += 1;
    return /^\d/.test(token) ? int(Number(token)) : this.#name(token);
  }

  #name(name: string): Index {
    const call = functions[name];
    if (call !== undefined) {
      this.#expect('(');
      const left = this.#sum();
      this.#expect(',');
      const right = this.#sum();
      this.#expect(')');
      return call(left, right);
    }
    const extent = this.#extents[name];
    if (extent !== undefined) {
      return axisIndex({ name, extent: typeof extent === 'number' ? int(extent) : parseIndex(extent) });
    }
    if (!/^s\d+$/.test(name)) throw new InternalError('TEST_PARSE', `${name} is no axis of this case`);
    return sizeSymbol(name, 1);
  }
}

export const parseIndex = (text: string, extents: Extents = {}): Index => new Parser(text, extents).whole();
