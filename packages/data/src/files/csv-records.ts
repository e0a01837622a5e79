// The text of a CSV file as records of fields, as RFC 4180 has them: fields between delimiters, in quotes where they hold delimiters, quotes
// (doubled) or line breaks. The text is read once from left to right.
import { badFile } from '@tsinductor/tensor/file-access';

/** A record, and the line on which it begins, from 1. */
export interface CsvRecord {
  readonly line: number;
  readonly fields: readonly string[];
}

/** All records of a text; lines without a character are none. @throws UserError FILE_FORMAT */
export function readRecords(text: string, delimiter: string): readonly CsvRecord[] {
  const records: CsvRecord[] = [];
  const reader = new FieldReader(text, delimiter);
  while (!reader.isDone) {
    const { line } = reader;
    const fields = [reader.field()];
    while (reader.isAtDelimiter()) fields.push(reader.field());
    if (fields.length > 1 || fields[0] !== '' || reader.wasQuoted) records.push({ line, fields });
  }
  return records;
}

/** A place in the text, which only goes forward. */
class FieldReader {
  readonly #text: string;
  readonly #delimiter: string;
  #at = 0;
  line = 1;
  /** Whether the last field was in quotes. */
  wasQuoted = false;

  constructor(text: string, delimiter: string) {
    this.#text = text;
    this.#delimiter = delimiter;
  }

  get isDone(): boolean {
    return this.#at >= this.#text.length;
  }

  /** Passes the delimiter, where one is next; else the line break. */
  isAtDelimiter(): boolean {
    if (this.#text[this.#at] === this.#delimiter) {
      this.#at += 1;
      return true;
    }
    if (this.#text[this.#at] === '\r') this.#at += 1;
    if (this.#text[this.#at] === '\n') this.#at += 1;
    this.line += 1;
    return false;
  }

  /** The field that begins here, without its quotes. */
  field(): string {
    this.wasQuoted = this.#text[this.#at] === '"';
    return this.wasQuoted ? this.#quoted() : this.#plain();
  }

  #plain(): string {
    const start = this.#at;
    while (!this.isDone && !this.#isEnd()) {
      if (this.#text[this.#at] === '"') throw this.#wrong('has a quote in a field that does not begin with one');
      this.#at += 1;
    }
    return this.#text.slice(start, this.#at);
  }

  #quoted(): string {
    const [begin, parts] = [this.line, [] as string[]];
    for (;;) {
      const end = this.#text.indexOf('"', this.#at + 1);
      if (end < 0) throw badFile('csv', `line ${String(begin)} begins a field in quotes that does not end`);
      const part = this.#text.slice(this.#at + 1, end);
      this.line += part.split('\n').length - 1;
      parts.push(part);
      this.#at = end + 1;
      if (this.#text[this.#at] !== '"') break;
    }
    if (!this.isDone && !this.#isEnd()) throw this.#wrong('has text behind the closing quote of a field');
    return parts.join('"');
  }

  #isEnd(): boolean {
    const next = this.#text[this.#at];
    return next === this.#delimiter || next === '\n' || next === '\r';
  }

  #wrong(what: string): Error {
    return badFile('csv', `line ${String(this.line)} ${what}`);
  }
}
