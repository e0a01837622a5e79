// What stands in a graph's key for the measurements that its code goes by. In: the settings. Out: a digest that changes when there are
// measurements of further products; undefined where code does not go by what is found without measuring.
import { stableHash } from '@tsinductor/base';
import type { Config } from '@tsinductor/config';
import type { Builder } from '../builder.ts';
import { tunesGroups } from './tune-groups.ts';

export function recordsDigest(config: Config, builder: Builder): string | undefined {
  if (!tunesGroups(config) || config.autotunePolicy !== 'heuristics') return undefined;
  using records = builder.tuningRecords(stableHash({ kind: 'digest of records' }));
  return stableHash(records.list());
}
