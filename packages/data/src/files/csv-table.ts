// A table: columns by name, all of one length, each a tensor of numbers or a list of text.
import { isTensor, stack } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import { columnKind, noSuchColumn } from '../errors.ts';

export class CsvTable {
  /** How many rows there are. */
  readonly length: number;
  readonly #columns: ReadonlyMap<string, Tensor | readonly string[]>;

  constructor(length: number, columns: ReadonlyMap<string, Tensor | readonly string[]>) {
    this.length = length;
    this.#columns = columns;
  }

  /** The names of the columns, in the order of the file. */
  get names(): readonly string[] {
    return [...this.#columns.keys()];
  }

  /** A column of numbers: [rows]. @throws UserError DATA_COLUMN, DATA_COLUMN_KIND */
  numbers(name: string): Tensor {
    const column = this.#column(name);
    if (!isTensor(column)) throw columnKind(name, 'text', 'numbers');
    return column;
  }

  /** A column of text. @throws UserError DATA_COLUMN, DATA_COLUMN_KIND */
  text(name: string): readonly string[] {
    const column = this.#column(name);
    if (isTensor(column)) throw columnKind(name, `numbers (${column.dtype})`, 'text');
    return column;
  }

  /** Columns of numbers beside each other: [rows, names]. @throws UserError DATA_COLUMN, DATA_COLUMN_KIND */
  matrix(names: readonly string[]): Tensor {
    return stack(
      names.map((name) => this.numbers(name)),
      1,
    );
  }

  /** A column of text as numbers of its classes, which are numbered in the order of the alphabet: i64[rows]. @throws UserError DATA_COLUMN, DATA_COLUMN_KIND */
  classes(name: string): { readonly labels: BigInt64Array; readonly classes: readonly string[] } {
    const texts = this.text(name);
    const classes = [...new Set(texts)].sort();
    const number = new Map(classes.map((word, index) => [word, BigInt(index)]));
    return { labels: BigInt64Array.from(texts, (text) => number.get(text) ?? 0n), classes };
  }

  #column(name: string): Tensor | readonly string[] {
    const column = this.#columns.get(name);
    if (column === undefined) throw noSuchColumn(name, this.names);
    return column;
  }
}
