// Types of what tests use of golden.mjs.
export interface GoldenEntry {
  readonly id: string;
  readonly aten: string;
  readonly kind: 'forward' | 'grad' | 'error';
  readonly args: readonly unknown[];
  readonly kwargs: Readonly<Record<string, unknown>>;
}
export declare class Golden {
  constructor(folder: string);
  cases(): Iterable<GoldenEntry>;
  decode(value: unknown): unknown;
}
