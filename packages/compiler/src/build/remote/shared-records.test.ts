// Measurements that machines share: the own ones first, then those of the server; both are written to.
import { expect, test } from '@jest/globals';
import { ToolchainError } from '@tsinductor/base';
import type { RecordStore } from '@tsinductor/cache';
import { SharedRecords } from './shared-records.ts';

const [problem, another] = ['aa'.repeat(16), 'bb'.repeat(16)];
const [first, second] = ['11'.repeat(16), '22'.repeat(16)];

/** Records in memory, for one machine. */
function machine(): RecordStore & { readonly kept: Map<string, Map<string, unknown>> } {
  const kept = new Map<string, Map<string, unknown>>();
  return {
    ...{ kept, root: '' },
    read: (of) => new Map(kept.get(of)),
    write: (of, configuration, record) => {
      kept.set(of, new Map([...(kept.get(of) ?? []), [configuration, record]]));
    },
    list: () => [...kept.keys()],
    clear: () => 0,
    [Symbol.dispose]: () => undefined,
  };
}

/** A server, and what it was asked. */
function server() {
  const values = new Map<string, Uint8Array>();
  const asked: string[] = [];
  const get = (name: string): Uint8Array | undefined => {
    asked.push(`get ${name.split(':')[0] ?? ''}`);
    return values.get(name);
  };
  return {
    values,
    asked,
    get,
    getOrClaim: (name: string, milliseconds: number) => {
      asked.push(`wait ${String(milliseconds)}`);
      return get(name);
    },
    set: (name: string, bytes: Uint8Array) => {
      asked.push(`set ${name.split(':')[0] ?? ''}`);
      values.set(name, bytes);
    },
  };
}

test('what one machine measures the next one reads, and keeps', () => {
  const shared = server();
  {
    using records = new SharedRecords(machine(), shared, {});
    expect(records.read(problem).size).toBe(0);
    records.write(problem, first, { milliseconds: 1 });
    records.write(problem, second, { milliseconds: 2 });
  }
  const other = machine();
  using records = new SharedRecords(other, shared, {});
  const measured = new Map([
    [first, { milliseconds: 1 }],
    [second, { milliseconds: 2 }],
  ]);
  expect(records.read(problem)).toEqual(measured);
  expect([other.kept.get(problem), records.read(problem)]).toEqual([measured, measured]);
  expect(shared.asked).toEqual(['get autotune', 'set autotune', 'get autotune']);
});

test('a bundle has all problems of a kernel: it seeds them at once, and keeps what is there', () => {
  const shared = server();
  for (const one of [problem, another]) {
    using records = new SharedRecords(machine(), shared, { bundle: 'kernel' });
    records.write(one, first, { milliseconds: 1 });
  }
  const other = machine();
  using records = new SharedRecords(other, shared, { bundle: 'kernel' });
  expect(records.read(problem).size).toBe(1);
  expect(other.list()).toEqual([problem, another]);
  expect([...shared.values.keys()]).toEqual(['autotune-bundle:kernel']);
});

test('with patience, another machine that measures is waited for', () => {
  const shared = server();
  using records = new SharedRecords(machine(), shared, { patience: 70 });
  records.read(problem);
  expect(shared.asked).toEqual(['wait 70', 'get autotune']);
});

test('what is no measurement in a value is left out', () => {
  const shared = server();
  const texts = [
    '',
    'no JSON',
    'null',
    '{"a":1}',
    '[["../x",[["y",1]]]]',
    `[["${problem}",[["no key",1],["${first}",3],7]]]`,
  ];
  const sizes = texts.map((text) => {
    shared.values.set(`autotune:${problem}`, Buffer.from(text));
    using records = new SharedRecords(machine(), shared, {});
    return records.read(problem).size;
  });
  expect(sizes).toEqual([0, 0, 0, 0, 0, 1]);
});

test('are used where they cannot be kept, as on a disk that is full', () => {
  const shared = server();
  const one = new SharedRecords(machine(), shared, {});
  one.write(problem, first, 1);
  one[Symbol.dispose]();
  const full = {
    ...machine(),
    write: (): never => {
      throw new ToolchainError('CACHE_WRITE_FAILED', 'no space');
    },
  };
  expect([...new SharedRecords(full, shared, {}).read(problem)]).toEqual([[first, 1]]);
});
