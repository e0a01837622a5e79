// Every program of loops and branches, compiled natively.
import { test } from '@jest/globals';
import { expectAsEager, programs } from './control-flow-programs.ts';

test.each(Object.entries(programs))('%s', (_, program) => {
  expectAsEager(program, 'inductor');
});
