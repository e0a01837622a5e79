import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * What `measure` gives once the collector has taken what earlier tests dropped: the value that four collections in a row leave.
 * A test that counts memory begins with this, or a collection in its midst takes the memory of others from its count.
 */
export async function settled(measure: () => number): Promise<number> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  let value = measure();
  for (let equal = 0; equal < 4;) {
    collect();
    // Registries of finalizers run in a task of their own.
    await new Promise((resolve) => setTimeout(resolve, 5));
    const next = measure();
    equal = next === value ? equal + 1 : 0;
    value = next;
  }
  return value;
}
