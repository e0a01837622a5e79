// What a process is asked that times entries of a library, and what it answers.

/** Memory of a call: floats are ordinary numbers, everything else is 0. */
export interface TimedBuffer {
  readonly bytes: number;
  readonly isFloat: boolean;
  /** Whether it is only read: such memory lies cold, as weights do. */
  readonly isRead: boolean;
  /** What is in it, in base64; what is in any other, if absent. */
  readonly contents?: string;
}

export interface TimingJob {
  /** Paths of the addon, and of the library. */
  readonly bridge: string;
  readonly library: string;
  readonly entries: readonly string[];
  /** In the order of the entries' tables; what each has as workspace comes last. */
  readonly buffers: readonly TimedBuffer[];
  readonly threads: number;
  /** What is read is rotated through so many bytes. */
  readonly coldBytes: number;
  /** How long each entry is run. */
  readonly milliseconds: number;
}

/** Milliseconds of a call of each entry: the median. */
export type TimingAnswer = readonly number[];
