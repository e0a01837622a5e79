// Columns of a table: fields as numbers of a dtype, or as text. What is no number where one is needed is an error with its line.
import { dtypeInfo, isDType, isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { tensor } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import { badFile } from '@tsinductor/tensor/file-access';
import { checkOptions, yesOrNo } from '../checked-options.ts';
import type { Check } from '../checked-options.ts';
import type { CsvRecord } from './csv-records.ts';

/** What a column is read as. */
export type ColumnKind = DType | 'text';

export interface CsvOptions {
  /** What stands between fields. Default: a comma. */
  readonly delimiter?: string;
  /** Whether the first record names the columns. Default: true; else they are named `0`, `1` and so on. */
  readonly header?: boolean;
  /** Which columns are read, and as what. Default: all; those of numbers alone as `dtype`, and the others as text. */
  readonly columns?: Readonly<Record<string, ColumnKind>>;
  /** What columns of numbers are that `columns` does not name. Default: `f32`. */
  readonly dtype?: DType;
  /** The number that an empty field is in a column of floats, as NaN. Default: an empty field is an error there. */
  readonly missing?: number;
}

/** The options, complete but for `columns` and `missing`. */
interface ReadCsvOptions extends CsvOptions {
  readonly delimiter: string;
  readonly header: boolean;
  readonly dtype: DType;
}

const checks: Readonly<Record<keyof CsvOptions, Check>> = {
  delimiter: {
    is: (value) => typeof value === 'string' && value.length === 1 && !'"\r\n'.includes(value),
    needs: 'one character, no quote and no line break',
  },
  header: yesOrNo,
  columns: { is: (value) => typeof value === 'object' && value !== null, needs: 'a record of names and kinds' },
  dtype: { is: isDType, needs: 'a dtype' },
  missing: { is: (value) => typeof value === 'number', needs: 'a number' },
};

const kind: Check = { is: (value) => value === 'text' || isDType(value), needs: "a dtype, or 'text'" };

/** @throws UserError DATA_OPTION, DATA_OPTION_UNKNOWN */
export function readCsvOptions(given: CsvOptions): ReadCsvOptions {
  checkOptions({ where: 'decodeCsv' }, given, checks);
  const columns = given.columns ?? {};
  const kinds = Object.fromEntries(Object.keys(columns).map((name) => [name, { ...kind, isRequired: true }]));
  checkOptions({ where: 'decodeCsv', prefix: 'columns.' }, columns, kinds);
  return { ...given, delimiter: given.delimiter ?? ',', header: given.header ?? true, dtype: given.dtype ?? 'f32' };
}

/** The fields of one column. */
interface Fields {
  readonly name: string;
  readonly index: number;
  readonly records: readonly CsvRecord[];
}

/** A number as JSON, JavaScript and NumPy write it; no hexadecimal, no spaces within. */
const decimal = /^\s*[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\s*$/;
const special: ReadonlyMap<string, number> = new Map([
  ['nan', NaN],
  ['inf', Infinity],
  ['+inf', Infinity],
  ['-inf', -Infinity],
]);

/** The number that a field writes; undefined where it writes none. */
function numberIn(field: string): number | undefined {
  if (decimal.test(field)) return Number(field);
  return special.get(field.trim().toLowerCase().replace('infinity', 'inf'));
}

/** A column as it is to be read. @throws UserError FILE_FORMAT */
export function readColumn(fields: Fields, options: ReadCsvOptions): Tensor | readonly string[] {
  const readAs = options.columns?.[fields.name] ?? kindOf(fields, options);
  const texts = fields.records.map(({ fields: all }) => all[fields.index] ?? '');
  if (readAs === 'text') return texts;
  const elements = texts.map((text, row) => elementOf(text, readAs, { options, where: () => place(fields, row) }));
  return tensor(elements, { dtype: readAs });
}

const place = ({ name, records }: Fields, row: number): string =>
  `line ${String(records[row]?.line ?? 0)}, column ${JSON.stringify(name)}`;

/** What a column is that the options do not name: numbers where every field is one. */
function kindOf({ index, records }: Fields, { dtype, missing }: ReadCsvOptions): ColumnKind {
  const isNumber = ({ fields }: CsvRecord): boolean => {
    const field = fields[index] ?? '';
    return (field === '' && missing !== undefined) || numberIn(field) !== undefined;
  };
  return records.every(isNumber) && records.some(({ fields }) => fields[index] !== '') ? dtype : 'text';
}

function elementOf(
  text: string,
  dtype: DType,
  { options, where }: { options: ReadCsvOptions; where: () => string },
): number | bigint | boolean {
  const wrong = (needs: string): Error =>
    badFile('csv', `${where()}: ${JSON.stringify(text.slice(0, 40))} is not ${needs}`);
  if (dtype === 'bool') {
    const word = text.trim().toLowerCase();
    if (['1', 'true'].includes(word)) return true;
    if (['0', 'false'].includes(word)) return false;
    throw wrong('true, false, 1 or 0');
  }
  if (isFloat(dtype)) {
    const value = text === '' ? options.missing : numberIn(text);
    if (value === undefined) throw wrong('a number');
    return value;
  }
  if (!/^\s*[+-]?\d+\s*$/.test(text)) throw wrong('a whole number');
  const whole = BigInt(text.trim().replace(/^\+/, ''));
  const bits = BigInt(8 * dtypeInfo[dtype].bytes);
  const [least, end] = dtype === 'u8' ? [0n, 1n << bits] : [-(1n << (bits - 1n)), 1n << (bits - 1n)];
  if (whole < least || whole >= end) throw wrong(`in the range of ${dtype}`);
  return whole;
}
