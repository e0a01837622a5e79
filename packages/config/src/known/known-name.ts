// What is said of a name that other systems have, and for which there is no row in the table of settings.

/** A name as it is spelled there: dotted, or an environment variable. */
export interface KnownName {
  readonly name: string;
  /** The environment variables that mean the same there. */
  readonly env?: readonly string[];
}

/** One with the reason why there is no setting: a sentence, or the end of one. */
export interface ExcusedName extends KnownName {
  readonly says: string;
  /** Where it is set for the sake of something else, which is then not worth a word. */
  readonly unless?: 'nvidiaDriver';
}
