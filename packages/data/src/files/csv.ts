// CSV files as tables. Files are hostile input: records that are ragged, quotes that do not end, columns that are named twice and fields that are
// no numbers are errors with their line.
import { TextDecoder } from 'node:util';
import { badFile, checkBytes, readBytes, unsupportedFile } from '@tsinductor/tensor/file-access';
import { noSuchColumn } from '../errors.ts';
import { readColumn, readCsvOptions } from './csv-columns.ts';
import type { CsvOptions } from './csv-columns.ts';
import { readRecords } from './csv-records.ts';
import type { CsvRecord } from './csv-records.ts';
import { CsvTable } from './csv-table.ts';

/** The table of a CSV file. @throws UserError FILE_ACCESS, FILE_FORMAT, FILE_UNSUPPORTED, DATA_COLUMN, DATA_OPTION, DATA_OPTION_UNKNOWN */
export const loadCsv = async (path: string | URL, options: CsvOptions = {}): Promise<CsvTable> =>
  decodeCsv(await readBytes(path), options);

/**
 * The table of a text in CSV, or of its bytes in UTF-8.
 *
 * ```ts
 * const table = decodeCsv('height,width,kind\n5.1,3.5,setosa\n6.2,2.9,virginica\n');
 * const x = table.matrix(['height', 'width']); // f32[2, 2]
 * ```
 *
 * @throws UserError FILE_FORMAT where the text is no table, FILE_UNSUPPORTED where it is too long for a string, DATA_COLUMN for a column that it
 *   does not have, DATA_OPTION, DATA_OPTION_UNKNOWN
 */
export function decodeCsv(file: string | Uint8Array, given: CsvOptions = {}): CsvTable {
  const options = readCsvOptions(given);
  const all = readRecords(typeof file === 'string' ? file.replace(/^\ufeff/, '') : textOf(file), options.delimiter);
  const [first] = all;
  if (first === undefined) throw badFile('csv', 'it has no records');
  const names = options.header ? first.fields : first.fields.map((_, index) => String(index));
  const records = options.header ? all.slice(1) : all;
  const places = new Map(names.map((name, index) => [name, index]));
  const twice = names.find((name, index) => places.get(name) !== index);
  if (twice !== undefined) throw badFile('csv', `the column ${JSON.stringify(twice)} is there twice`);
  requireEven(records, names.length);
  for (const name of Object.keys(options.columns ?? {})) if (!places.has(name)) throw noSuchColumn(name, names);
  const wanted = [...places].filter(([name]) => options.columns === undefined || Object.hasOwn(options.columns, name));
  const columns = wanted.map(([name, index]) => [name, readColumn({ name, index, records }, options)] as const);
  return new CsvTable(records.length, new Map(columns));
}

/** The text of a file, without the mark of UTF-8 that some programs begin with. */
function textOf(file: Uint8Array): string {
  checkBytes('decodeCsv', file);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(file);
  } catch (cause) {
    const isLong = (cause as { code?: unknown }).code === 'ERR_STRING_TOO_LONG';
    if (isLong) throw unsupportedFile('csv', `a text of ${String(file.byteLength)} bytes`, 'cut it into several files');
    throw badFile('csv', 'it is not a text in UTF-8');
  }
}

function requireEven(records: readonly CsvRecord[], width: number): void {
  const ragged = records.find(({ fields }) => fields.length !== width);
  if (ragged === undefined) return;
  const { line, fields } = ragged;
  throw badFile(
    'csv',
    `line ${String(line)} has ${String(fields.length)} fields, and the first record ${String(width)}`,
  );
}
