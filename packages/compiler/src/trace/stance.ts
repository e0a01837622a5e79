// The stance: what compiled functions of the process do when nothing that was compiled fits a call. In: a name, and what goes
// with it. Out: checked values. Who holds the current one is default-compiler.ts.
import { badStanceOption, unknownStance } from '../errors.ts';
import { backendForms, isBackend } from '../options.ts';
import type { Backend } from '../options.ts';

/** What calls of compiled functions do; see `setStance`. */
export type Stance =
  | 'default'
  | 'force_eager'
  | 'eager_on_recompile'
  | 'fail_on_recompile'
  | 'eager_then_compile'
  | 'aot_eager_then_compile';

const stances: readonly Stance[] = [
  'default',
  'force_eager',
  'eager_on_recompile',
  'fail_on_recompile',
  'eager_then_compile',
  'aot_eager_then_compile',
];

export interface StanceOptions {
  /** With the stance `default`: the backend of all compiled functions, whatever their own options say. */
  readonly forceBackend?: Backend;
}

export interface CurrentStance extends StanceOptions {
  readonly stance: Stance;
}

export const defaultStance: CurrentStance = Object.freeze({ stance: 'default' });

/** Throws UserError STANCE_VALUE, STANCE_OPTION. */
export function checkStance(stance: Stance, options: StanceOptions): CurrentStance {
  if (!stances.includes(stance)) throw unknownStance(stance, stances);
  const unknown = Object.keys(options).find((name) => name !== 'forceBackend');
  if (unknown !== undefined) throw badStanceOption(`no option ${JSON.stringify(unknown)}`, 'use forceBackend');
  const { forceBackend } = options;
  if (forceBackend === undefined) return { stance };
  if (!isBackend(forceBackend)) throw badStanceOption('forceBackend is no backend', `give ${backendForms}`);
  if (stance !== 'default')
    throw badStanceOption(`forceBackend was given with ${stance}`, "give it with the stance 'default' alone");
  return { stance, forceBackend };
}
