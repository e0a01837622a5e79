// Suites that are no lists of workloads with contenders: each measures in its own way, and has rows of its own in the report.
export interface OwnSuite<Row> {
  readonly name: string;
  /** The names of what is measured, those that match. */
  cases(filter?: RegExp): readonly string[];
  measure(options: OwnOptions): readonly Row[];
  /** The rows for people. */
  tables(rows: readonly Row[]): readonly string[];
  /** The rows as a drawing in SVG, where they are better looked at. */
  draw?(rows: readonly Row[]): Promise<string>;
}

export interface OwnOptions {
  /** The folder of the benchmarks, where children run. */
  readonly root: string;
  /** Interleaved rounds, where contenders take turns. */
  readonly rounds: number;
  readonly filter: RegExp | undefined;
  readonly progress: (index: number, text: string) => void;
}

/** What all that match of `named` are. */
export const matching = <Named extends { readonly name: string }>(
  named: readonly Named[],
  filter: RegExp | undefined,
): readonly Named[] => (filter === undefined ? named : named.filter(({ name }) => filter.test(name)));

/** What a suite of its own measured. */
export interface OwnResult {
  readonly name: string;
  readonly rows: readonly object[];
  readonly tables: readonly string[];
  readonly drawing: string | undefined;
}

export async function measureOwn<Row extends object>(suite: OwnSuite<Row>, options: OwnOptions): Promise<OwnResult> {
  const rows = suite.measure(options);
  return { name: suite.name, rows, tables: suite.tables(rows), drawing: await suite.draw?.(rows) };
}
