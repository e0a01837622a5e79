// The part of a configuration that generated code depends on, as a digest for cache keys.
import { stableHash } from '@tsinductor/base';
import { valueOf } from './resolve.ts';
import { settingNames, settingOf } from './settings.ts';
import type { Config } from './settings.ts';

/** Changes exactly when a setting changes whose row says `affects: 'code'`. */
export function fingerprint(config: Config): string {
  const code = settingNames.filter((name) => settingOf(name).affects === 'code');
  return stableHash(Object.fromEntries(code.map((name) => [name, valueOf(config, name)])));
}
