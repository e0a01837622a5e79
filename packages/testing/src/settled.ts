import { openCollector } from '@tsinductor/runtime';

/** More than one, because the last may still be in a register or on the stack. */
const probes = 8;

/**
 * So many collections are enough. In V8 a registry that dies after its task was posted and before it ran leaves a mark that the task is still to
 * come: no registry of that process is told again. Suites that share a process do that to each other.
 */
const mostRounds = 12;

/**
 * What `measure` gives once the collector has taken what nobody holds: the value that four collections in a row leave, after finalizers of
 * something that was dropped here have run: on a busy machine they may come late. Where none come at all, nothing changes the count either.
 * A test that counts memory begins with this, or a collection in its midst takes what earlier tests dropped from its count.
 */
export async function settled(measure: () => number): Promise<number> {
  const collect = openCollector();
  if (collect === undefined) throw new Error('this engine has no collector to call');
  const found = { any: false };
  const registry = new FinalizationRegistry(() => {
    found.any = true;
  });
  for (let made = 0; made < probes; made += 1) registry.register({}, undefined);
  let value = measure();
  for (let equal = 0, round = 0; (equal < 4 || !found.any) && round < mostRounds; round += 1) {
    collect('all');
    // Registries of finalizers run in a task of their own.
    await new Promise((resolve) => setTimeout(resolve, 5));
    const next = measure();
    equal = next === value && found.any ? equal + 1 : 0;
    value = next;
  }
  return value;
}
