// Indented text: what every printer writes through.

export class Lines {
  readonly #lines: string[] = [];
  readonly #indent: string;
  /** The white space before lines at the present depth. */
  #margin = '';

  constructor(indent = '  ') {
    this.#indent = indent;
  }

  /** Adds one line (or several, where `text` has line breaks) at the present depth. An empty text is an empty line. */
  line(text = ''): this {
    if (!text.includes('\n')) this.#lines.push(text === '' ? '' : this.#margin + text);
    else for (const part of text.split('\n')) this.#lines.push(part === '' ? '' : this.#margin + part);
    return this;
  }

  /** Adds `open`, what `body` writes one level deeper, and `close`. */
  block(open: string, body: () => void, close = '}'): this {
    this.line(open);
    const outside = this.#margin;
    this.#margin += this.#indent;
    body();
    this.#margin = outside;
    if (close !== '') this.line(close);
    return this;
  }

  toString(): string {
    return this.#lines.length === 0 ? '' : this.#lines.join('\n') + '\n';
  }
}
