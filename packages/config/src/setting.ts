// What one row of the settings table says. A row is plain data; everything else about a setting follows from it: its
// place in `Config`, how its environment variables and values are read, whether it enters the cache key, its documentation.

/** What a change of the setting changes: generated code (and so the cache key), how code runs, or only what is reported. */
export type Affects = 'code' | 'runtime' | 'diagnostics';

/** Defaults that depend on the machine; `computed.ts` has a function for each. */
export type ComputedDefault = 'cacheDirectory' | 'usableCores' | 'isDevelopment';

interface Row {
  readonly doc: string;
  readonly affects: Affects;
  /** Torch's dotted name where it is not simply the key in snake_case. */
  readonly torchName?: string;
  /** Names that other systems have for the same, beside torch's. */
  readonly aliases?: readonly string[];
  /** Ordinary variables, first set one wins: they beat the default and lose to what the program sets. */
  readonly env?: readonly string[];
  /** Variables that beat everything, also what the program sets. */
  readonly forceEnv?: readonly string[];
  /** Variables of other systems that stand in for an ordinary one when none of those is set. They may say true and yes for 1. */
  readonly aliasEnv?: readonly string[];
  /** Variables that only replace the built-in default, and lose to every other source. */
  readonly defaultEnv?: readonly string[];
  /**
   * How its variables are read where their text is not simply a value: any text at all is true, or 1 is null and other text
   * the value; or true and false are values beside 1 and 0; or a word in any case, and one that is no value is the default,
   * with a warning. So one variable can say that something is done, and to what.
   */
  readonly envText?: 'anyIsTrue' | 'oneIsNull' | 'trueOrFalse' | 'wordOrDefault';
  /** Whether null is a value (usually: decide automatically). */
  readonly nullable?: true;
  /** Variables from which a computed default follows: they are no value of the setting themselves. */
  readonly foundFrom?: readonly string[];
  /** The default is found at load time; `default` is then what documentation shows where it cannot be. */
  readonly computed?: ComputedDefault;
}

interface NumberRow extends Row {
  readonly default: number | null;
  readonly min?: number;
  readonly max?: number;
}

export type Setting =
  | (Row & { readonly type: 'bool'; readonly default: boolean | null })
  | (NumberRow & { readonly type: 'int' | 'float' })
  | (Row & { readonly type: 'string'; readonly default: string | null; readonly syntax?: 'regularExpression' })
  /**
   * `pattern` is a regular expression that each item must match, `values` are the items that there are, before which a sign may
   * stand where they are signed, and that are words in any case where they are words; in an environment variable items are separated by commas.
   */
  | (Row & {
      readonly type: 'stringList';
      readonly default: readonly string[];
      readonly pattern?: string;
      readonly values?: readonly string[];
      readonly isSigned?: true;
      readonly anyCase?: true;
    })
  /** In an environment variable separated by commas. */
  | (Row & {
      readonly type: 'intList';
      readonly default: readonly number[];
      readonly min?: number;
      readonly max?: number;
    })
  | (Row & { readonly type: 'choice'; readonly default: string | null; readonly values: readonly string[] })
  /** Objects by name, of what JSON has; only a program can set it. */
  | (Row & { readonly type: 'table'; readonly default: SettingTable })
  /** Code of the program; only a program can set it. */
  | (Row & { readonly type: 'hook'; readonly default: null; readonly nullable: true });

/** A function that a program gives. What it takes and gives is said by the setting. */
export interface Hook {
  /** Stands for the function in cache keys: one that does something else needs another. */
  readonly key: string;
  readonly run: (...given: never[]) => unknown;
}

/** Objects by name. */
export type SettingTable = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** A value that some setting may have. */
export type SettingValue =
  boolean | number | string | readonly string[] | readonly number[] | SettingTable | Hook | null;

interface ValueByType {
  readonly bool: boolean;
  readonly int: number;
  readonly float: number;
  readonly string: string;
  readonly stringList: readonly string[];
  readonly intList: readonly number[];
  readonly table: SettingTable;
  readonly hook: Hook;
}

/** The type of a setting's value, from its row. */
export type ValueOf<S extends Setting> =
  | (S extends { readonly type: 'choice'; readonly values: readonly (infer V)[] } ? V : never)
  | (S['type'] extends keyof ValueByType ? ValueByType[S['type']] : never)
  | (S extends { readonly nullable: true } ? null : never);
