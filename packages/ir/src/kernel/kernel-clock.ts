// The clock of a kernel in a profiled entry: what generated code counts, and whoever gave it the memory reads. The clocks
// of an entry are a block of such records, one for each of its kernels in the order of their calls, zero at first.

/** The 64-bit integers of a clock, in order: runs, their nanoseconds in all, the start and the nanoseconds of the last run. */
export const clockFields = ['runs', 'total', 'started', 'last'] as const;

export type ClockField = (typeof clockFields)[number];

export const clockBytes: number = clockFields.length * 8;
