// What the modes of compile() ask of the settings, and what of them is not built. A mode lies below the options of the same call.
import { withConfig } from '@tsinductor/config';
import type { Config, ConfigPatch } from '@tsinductor/config';
import { modeNotBuilt } from './errors.ts';
import type { Device } from '@tsinductor/tensor/internal';

export type Mode = 'default' | 'reduce-overhead' | 'max-autotune' | 'max-autotune-no-cudagraphs';

/** What a clock can decide is decided by one: which groups are fused, which independent ones share a kernel, how products are tiled and loops laid out. */
const measured: ConfigPatch = {
  maxAutotuneGemm: true,
  maxAutotunePointwise: true,
  benchmarkFusion: true,
  comboKernels: true,
  benchmarkComboKernel: true,
};

const patches: Readonly<Record<Mode, ConfigPatch>> = {
  default: {},
  'reduce-overhead': {},
  'max-autotune': measured,
  'max-autotune-no-cudagraphs': measured,
};

export const modes: readonly Mode[] = Object.keys(patches) as readonly Mode[];

/** Modes that are nothing without a graph of launches, on every device. */
const needsCudaGraphs: readonly Mode[] = ['reduce-overhead'];

/** Throws UserError MODE_NOT_BUILT for a mode of which there would be no effect. */
export function checkMode(mode: Mode | undefined): void {
  if (mode !== undefined && needsCudaGraphs.includes(mode)) throw modeNotBuilt(mode, 'CUDA graphs');
}

/** What asks for a configuration of its own. */
interface Asked {
  readonly mode?: Mode | undefined;
  readonly patch?: ConfigPatch | undefined;
}

/** The settings under a mode and the options beside it. */
export function configUnder(base: Config, { mode, patch }: Asked): Config {
  const underMode = mode === undefined || mode === 'default' ? base : withConfig(base, patches[mode], 'options');
  const given = patch === undefined ? underMode : withConfig(underMode, patch, 'options');
  if (!given.maxAutotune) return given;
  // What it implies lies below the options of the call, as a mode does.
  const underAll = withConfig(underMode, measured, 'options');
  return patch === undefined ? underAll : withConfig(underAll, patch, 'options');
}

/** Throws UserError MODE_NOT_BUILT where the mode has a part on that device that is not built. */
export function checkModeOn(mode: Mode | undefined, device: Device): void {
  if (mode === 'max-autotune' && device !== 'cpu') throw modeNotBuilt(mode, 'CUDA graphs');
}
