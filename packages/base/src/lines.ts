// Indented text: what every printer writes through.

export class Lines {
  readonly #lines: string[] = [];
  readonly #indent: string;
  #depth = 0;

  constructor(indent = '  ') {
    this.#indent = indent;
  }

  /** Adds one line (or several, where `text` has line breaks) at the present depth. An empty text is an empty line. */
  line(text = ''): this {
    for (const part of text.split('\n')) this.#lines.push(part === '' ? '' : this.#indent.repeat(this.#depth) + part);
    return this;
  }

  /** Adds `open`, what `body` writes one level deeper, and `close`. */
  block(open: string, body: () => void, close = '}'): this {
    this.line(open);
    this.#depth += 1;
    body();
    this.#depth -= 1;
    if (close !== '') this.line(close);
    return this;
  }

  toString(): string {
    return this.#lines.length === 0 ? '' : this.#lines.join('\n') + '\n';
  }
}
