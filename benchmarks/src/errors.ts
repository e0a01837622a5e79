// Every error the harness makes, by name.

/** Something that the person at the terminal can fix. */
export class BenchmarkError extends Error {
  override readonly name = 'BenchmarkError';
}

export const unknownSuite = (name: string, known: readonly string[]): BenchmarkError =>
  new BenchmarkError(`there is no suite ${JSON.stringify(name)}; use one of ${known.join(', ')}`);

export const unknownModel = (name: string): BenchmarkError =>
  new BenchmarkError(`there is no model ${JSON.stringify(name)} in the suite models`);

export const unknownDevice = (name: string): BenchmarkError =>
  new BenchmarkError(`there is no device ${JSON.stringify(name)} to measure on; use cpu or cuda`);

export const unknownPeer = (name: string, known: readonly string[]): BenchmarkError =>
  new BenchmarkError(`there is no peer ${JSON.stringify(name)}; use some of ${known.join(', ')}`);

export const unknownRule = (name: string, nearest: string | undefined): BenchmarkError =>
  new BenchmarkError(
    `there is no rule ${JSON.stringify(name)}${nearest === undefined ? '' : `; did you mean ${JSON.stringify(nearest)}?`}`,
  );

export const ruleNotCompiled = (row: string): BenchmarkError =>
  new BenchmarkError(`${row} is no function that can be compiled here, so no rule can be measured by it`);

export const otherResult = (row: string, rule: string): BenchmarkError =>
  new BenchmarkError(`${row} computes something else without the rule ${JSON.stringify(rule)}`);

export const nothingToRun = (filter: string): BenchmarkError =>
  new BenchmarkError(`no workload matches --filter ${filter}; run without it to see their names`);

export const badPattern = (filter: string, cause: unknown): BenchmarkError =>
  new BenchmarkError(`--filter ${filter} is not a regular expression`, { cause });

export const limitsOutdated = (): BenchmarkError =>
  new BenchmarkError(
    'the program that measures limits is older than this harness: it does not say all that is asked; run npm run bench:setup',
  );

export const childEnded = (name: string, detail: string): BenchmarkError =>
  new BenchmarkError(`${name} ended unexpectedly${detail === '' ? '' : `: ${detail}`}`);

export const childSilent = (name: string, seconds: number): BenchmarkError =>
  new BenchmarkError(`${name} did not answer within ${String(seconds)} s`);

export const wrongResult = (program: string, what: string): BenchmarkError =>
  new BenchmarkError(`${program} computes something else than its plain loop: ${what}`);

export const childFailed = (name: string, detail: string): BenchmarkError =>
  new BenchmarkError(`${name} failed: ${detail}`);
