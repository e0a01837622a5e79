// What compiles for a kind of target: native code, CUDA, the emulation of CUDA; one graph or a batch of them. In: a job. Out: what
// runs it. Text is generated in this thread; it is built in this thread or beside it; what was built is loaded.
import type { Config } from '@tsinductor/config';
import type { Tensor } from '@tsinductor/tensor';
import type { Placement } from '@tsinductor/tensor/internal';
import type { CacheTally } from './cache-tally.ts';
import type { TracedGraph } from '../request.ts';
import { done, then } from './pending.ts';
import type { Pending } from './pending.ts';

/** A graph to compile. */
export interface CompileJob {
  readonly name: string;
  readonly traced: TracedGraph;
  readonly examples: readonly Tensor[];
  readonly placement: Placement;
  readonly config: Config;
  readonly tally?: CacheTally | undefined;
  /** Nobody waits for it. */
  readonly isBackground?: boolean | undefined;
}

/** `Loaded` runs: an executable, or one for each graph of a batch. */
export interface TargetCompiler<Job, Generated, Built, Loaded> {
  /** What was made for such a job before, where that is kept. */
  find?(job: Job): Loaded | undefined;
  /** Source text, and what loading it needs to know. */
  generate(job: Job): Generated;
  /** Machine code, from the cache or from a compiler, while this thread waits. */
  build(generated: Generated): Built;
  /** The same without blocking. */
  buildAsync(generated: Generated): Promise<Built>;
  load(generated: Generated, built: Built): Loaded;
}

/** One that also builds beside this thread, which looks whether that is done. */
export interface BesideCompiler<Job, Generated, Built, Loaded> extends TargetCompiler<Job, Generated, Built, Loaded> {
  begin(generated: Generated): Pending<Built>;
}

/** What runs the job, blocking until it is built. */
export function compileNow<Job, Generated, Built, Loaded>(
  target: TargetCompiler<Job, Generated, Built, Loaded>,
  job: Job,
): Loaded {
  const known = target.find?.(job);
  if (known !== undefined) return known;
  const generated = target.generate(job);
  return target.load(generated, target.build(generated));
}

/** The same without blocking while compilers run. */
export async function compileAsync<Job, Generated, Built, Loaded>(
  target: TargetCompiler<Job, Generated, Built, Loaded>,
  job: Job,
): Promise<Loaded> {
  const known = target.find?.(job);
  if (known !== undefined) return known;
  const generated = target.generate(job);
  return target.load(generated, await target.buildAsync(generated));
}

/** The same beside this thread, which goes on at once, but generates the text first. */
export function compileBeside<Job, Generated, Built, Loaded>(
  target: BesideCompiler<Job, Generated, Built, Loaded>,
  job: Job,
): Pending<Loaded> {
  const known = target.find?.(job);
  if (known !== undefined) return done(known);
  const generated = target.generate(job);
  return then(target.begin(generated), (built) => target.load(generated, built));
}
