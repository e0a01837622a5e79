// The clocks of a profiled entry: one for each of its kernels, in a block that the caller gives. The entry reads the time
// once before the first kernel and once behind each.
import type { Definition } from '@tsinductor/codegen';
import { clockFields } from '@tsinductor/ir';
import { elementDefinition } from './vector-types.ts';

const clockType: Definition = {
  name: 'Clock',
  text: `struct Clock {\n  i64 ${clockFields.join(', ')};\n};\n`,
  needs: [elementDefinition('i64')],
};

/** The monotonic clock of the system, which is that of JavaScript's `process.hrtime` as well. */
export const nanosecondsFunction: Definition = {
  name: 'nanoseconds',
  text: [
    'struct Instant {',
    '  long seconds, nanoseconds;',
    '};',
    'extern "C" int clock_gettime(int clock, Instant *now);',
    'static i64 nanoseconds() {',
    '  Instant now;',
    '  clock_gettime(1, &now);',
    '  return now.seconds * 1000000000L + now.nanoseconds;',
    '}',
    '',
  ].join('\n'),
  needs: [elementDefinition('i64')],
};

/** Counts a run that began at `since`; gives the time, at which the next one begins. */
export const clockedFunction: Definition = {
  name: 'clocked',
  text: [
    'static i64 clocked(Clock &clock, i64 since) {',
    '  const i64 now = nanoseconds();',
    '  clock.runs += 1;',
    '  clock.started = since;',
    '  clock.last = now - since;',
    '  clock.total += clock.last;',
    '  return now;',
    '}',
    '',
  ].join('\n'),
  needs: [clockType, nanosecondsFunction],
};
