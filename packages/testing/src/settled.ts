import { openCollector } from '@tsinductor/runtime';

/**
 * What `measure` gives once the collector has taken what nobody holds: the value that four collections in a row leave. A test that counts
 * memory begins with this, or a collection in its midst takes what earlier tests dropped from its count.
 */
export async function settled(measure: () => number): Promise<number> {
  const collect = openCollector();
  if (collect === undefined) throw new Error('this engine has no collector to call');
  let value = measure();
  for (let equal = 0; equal < 4;) {
    collect('all');
    // Registries of finalizers run in a task of their own.
    await new Promise((resolve) => setTimeout(resolve, 5));
    const next = measure();
    equal = next === value ? equal + 1 : 0;
    value = next;
  }
  return value;
}
