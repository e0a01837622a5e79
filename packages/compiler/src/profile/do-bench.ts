// Measures a function as Triton's do_bench does: warm up for some time, then run for some time, and tell a quantile.

export interface BenchOptions {
  /** Milliseconds of runs that do not count; 25 by default. */
  readonly warmup?: number;
  /** Milliseconds of runs that count; 100 by default. */
  readonly rep?: number;
  /** The quantile of the times; 0.5 (the median) by default. */
  readonly quantile?: number;
}

/**
 * Milliseconds that one call of `run` takes. At least five calls are measured, however long they take.
 *
 * @example doBench(() => add.launch(grid, args))
 */
export function doBench(run: () => void, { warmup = 25, rep = 100, quantile = 0.5 }: BenchOptions = {}): number {
  const warm = performance.now() + warmup;
  do run();
  while (performance.now() < warm);
  const times: number[] = [];
  const end = performance.now() + rep;
  do {
    const start = performance.now();
    run();
    times.push(performance.now() - start);
  } while (performance.now() < end || times.length < 5);
  times.sort((a, b) => a - b);
  return times[Math.min(times.length - 1, Math.floor(times.length * quantile))] ?? NaN;
}
