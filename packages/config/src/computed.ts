// Defaults that depend on the machine. In: the environment as a value. Out: one value per `ComputedDefault`.
import { availableParallelism, homedir, tmpdir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import type { ComputedDefault, SettingValue } from './setting.ts';

/** A set of environment variables, as `process.env` is. */
export type Environment = Readonly<Record<string, string | undefined>>;

export const computedDefaults: Readonly<Record<ComputedDefault, (environment: Environment) => SettingValue>> = {
  cacheDirectory: (environment) => join(userCacheDirectory(environment), 'tsinductor'),
  isDevelopment: (environment) => environment['NODE_ENV'] !== 'production',
  usableCores: () => Math.min(32, availableParallelism()),
};

/**
 * Where code of V8 is kept, by the environment: it is asked for before anything else is loaded, settings included. Undefined
 * where that says to keep nothing.
 */
export function codeDirectoryIn(environment: Environment): string | undefined {
  if (environment['TORCHINDUCTOR_FORCE_DISABLE_CACHES'] === '1') return undefined;
  const given = environment['TORCHINDUCTOR_CACHE_DIR'] ?? '';
  const root = given === '' ? join(userCacheDirectory(environment), 'tsinductor') : given;
  return isAbsolute(root) ? join(root, 'code') : undefined;
}

/**
 * Where the platform keeps caches of a user: XDG's rule, on Windows the local application data, and the temporary directory for
 * a user without a home.
 */
function userCacheDirectory(environment: Environment): string {
  const local = environment['LOCALAPPDATA'];
  if (process.platform === 'win32' && local !== undefined && local !== '') return local;
  const xdg = environment['XDG_CACHE_HOME'];
  if (xdg !== undefined && isAbsolute(xdg)) return xdg;
  const home = environment['HOME'] ?? homedir();
  return isAbsolute(home) ? join(home, '.cache') : tmpdir();
}
