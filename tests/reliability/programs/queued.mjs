// How long the main thread of this process was ready to run and another one ran, in milliseconds: on a machine that has nothing else
// to do it would not have waited. 0 where the system does not say.
import { readFileSync } from 'node:fs';

export function queuedMilliseconds() {
  try {
    return Number(readFileSync('/proc/self/schedstat', 'utf8').split(' ')[1]) / 1e6;
  } catch {
    return 0;
  }
}
