import { expect, test } from '@jest/globals';
import { fuzzJavascript } from './check-javascript.ts';

test('random graphs give the same by generated JavaScript and by the interpreter', () => {
  const said: string[] = [];
  const progress = (text: string): void => {
    said.push(text);
  };
  expect(fuzzJavascript({ graphs: 20, seed: 11, first: 0, progress })).toEqual([]);
  expect(said).toEqual([]);
});
