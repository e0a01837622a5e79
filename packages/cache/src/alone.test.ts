import { expect, test } from '@jest/globals';
import { mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { alone, aloneNow } from './alone.ts';
import { place } from './test-support/store-place.ts';

/** Work of one name, whose result is in a variable. */
function work(waitMilliseconds = 20_000): {
  makes: () => number;
  count: () => number;
  shared: Parameters<typeof aloneNow<number>>[0];
} {
  let made: number | undefined;
  let count = 0;
  return {
    makes: () => {
      count += 1;
      return (made = 7);
    },
    count: () => count,
    shared: {
      directory: place.root,
      name: 'probe-1',
      known: () => made,
      waitMilliseconds,
      report: (event) => {
        place.events.push(event);
      },
    },
  };
}

const lockOf = (): string => join(place.root, '.lock-probe-1.lock');

test('what another has made meanwhile is taken, in both forms', async () => {
  const { makes, count, shared } = work();
  expect(aloneNow(shared, makes)).toBe(7);
  expect(aloneNow(shared, makes)).toBe(7);
  const many = await Promise.all(Array.from({ length: 5 }, () => alone(shared, () => Promise.resolve(makes()))));
  expect(many).toEqual([7, 7, 7, 7, 7]);
  expect(count()).toBe(1);
  expect(readdirSync(place.root)).toEqual([]);
  expect(place.events).toEqual([]);
});

test('a lock that is held is waited for, and no longer than it says', () => {
  const { makes, shared } = work(150);
  mkdirSync(lockOf());
  expect(aloneNow(shared, makes)).toBe(7);
  expect(place.events).toEqual([
    { kind: 'unlocked', key: 'probe-1', message: expect.stringContaining('held for 150 ms') },
  ]);
});

test('a lock of a dead process is taken over', () => {
  const { makes, shared } = work();
  mkdirSync(lockOf());
  const past = Date.now() / 1000 - 60;
  utimesSync(lockOf(), past, past);
  expect(aloneNow(shared, makes)).toBe(7);
  expect(place.events).toEqual([]);
  expect(readdirSync(place.root)).toEqual([]);
});

test('where no lock can be had, the work is done, and an error of it arrives', () => {
  const { makes, shared } = work();
  rmSync(place.root, { recursive: true });
  writeFileSync(place.root, 'a file');
  expect(aloneNow(shared, makes)).toBe(7);
  expect(place.events.map(({ kind }) => kind)).toEqual(['unlocked']);
  rmSync(place.root);
  mkdirSync(place.root);
  const fails = (): number => {
    throw new RangeError('no luck');
  };
  expect(() => aloneNow({ ...work().shared }, fails)).toThrow('no luck');
  expect(readdirSync(place.root)).toEqual([]);
});
