// Bounds of what a server answers, held before anything is made of it: whoever parses a list makes room for all that the server says is in
// it, and a list of a billion elements, or lists in lists in lists, end the process. In: bytes as they arrive. Out: whether they are
// replies that are small enough (RESP2, https://redis.io/docs/latest/develop/reference/protocol-spec).

/** No value is larger: what a build leaves is some megabytes. */
export const mostBytes: number = 64 << 20;

/** An answer of the queue has some dozen elements; a line is a number, a name or an error. */
const mostElements = 1 << 16;
const mostDepth = 8;
const mostLineBytes = 1 << 16;

/** A list or a text with its length; or a number, a name, an error. */
const linePattern = /^(?:([*$])(-1|\d{1,10})|[+:-][^\r]*)\r$/;

const newline = '\n'.charCodeAt(0);

export class ReplyBounds {
  /** The beginning of a line whose end has not arrived yet. */
  #line = '';
  /** Bytes of a text that have not arrived yet. */
  #left = 0;
  /** Elements that have not begun yet, of each list that is not whole; and how many there are in the outermost one with all in it. */
  readonly #open: number[] = [];
  #elements = 0;

  /** Whether all is within the bounds so far; where it is not, nothing that comes later matters. */
  accepts(chunk: Buffer): boolean {
    let position = 0;
    while (position < chunk.length) {
      const skipped = Math.min(this.#left, chunk.length - position);
      this.#left -= skipped;
      position += skipped;
      if (position === chunk.length) break;
      const end = chunk.indexOf(newline, position);
      this.#line += chunk.toString('latin1', position, end === -1 ? chunk.length : end);
      if (this.#line.length > mostLineBytes) return false;
      if (end === -1) break;
      position = end + 1;
      const line = this.#line;
      this.#line = '';
      if (!this.#begins(line)) return false;
    }
    return true;
  }

  /** A reply, or an element of one, begins with this line. */
  #begins(line: string): boolean {
    // One that could be read in two ways is refused: whoever parses it would read it in the other.
    const found = linePattern.exec(line);
    if (found === null) return false;
    const [, kind, digits = '0'] = found;
    const count = Number(digits);
    if (count > (kind === '*' ? mostElements : mostBytes)) return false;
    if (kind === '$' && count >= 0) this.#left = count + 2;
    const around = this.#open.pop();
    if (around !== undefined) this.#open.push(around - 1);
    if (kind === '*' && count > 0) return this.#opens(count);
    while (this.#open.at(-1) === 0) this.#open.pop();
    if (this.#open.length === 0) this.#elements = 0;
    return true;
  }

  /** A list begins. */
  #opens(count: number): boolean {
    this.#open.push(count);
    this.#elements += count;
    return this.#elements <= mostElements && this.#open.length <= mostDepth;
  }
}
