// An executable whose runs are measures of the performance timeline, for whoever observes that.
import type { Executable } from '../run/executable.ts';

/** `executable`; each of its runs is a measure called `name`, which a PerformanceObserver sees. */
export const marked = (executable: Executable, name: string): Executable => ({
  run: (inputs) => {
    const start = performance.now();
    try {
      return executable.run(inputs);
    } finally {
      performance.measure(name, { start });
    }
  },
  get report() {
    return executable.report;
  },
  ...(executable.tiers === undefined ? {} : { tiers: executable.tiers }),
});
