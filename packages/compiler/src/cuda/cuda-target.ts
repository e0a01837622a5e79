// For which architecture code is made, and in which form a device takes it. In: the device's architecture, and the one of
// the settings. Out: a target, or an error that says what the device can run.
//
// Machine code runs on devices of its major version; what is made for 90a runs on 9.0 alone. Every newer device takes PTX,
// which its driver compiles when the code is loaded.
import type { Architecture } from '@tsinductor/codegen-cuda';
import { architectureTooOld, architectureUnfit } from '../errors.ts';

export interface CudaChoice {
  readonly architecture: Architecture;
  readonly form: 'cubin' | 'ptx';
}

const oldest = 80;

/** `found` is the device's, such as `sm_90`; `configured` the setting cuda.arch. */
export function targetFor(found: string, configured: string | null): CudaChoice {
  const number = Number(/^sm_(\d+)$/.exec(found)?.[1] ?? 0);
  if (number < oldest) throw architectureTooOld(found);
  const isHopper = number === 90;
  if (configured === '90a' && !isHopper) throw architectureUnfit(found, configured);
  if (isHopper && configured !== '80') return { architecture: 'sm_90a', form: 'cubin' };
  return { architecture: 'sm_80', form: number < 90 ? 'cubin' : 'ptx' };
}

/** What runs on a device, in words. */
export const describeCode = (
  { architecture, form }: CudaChoice,
  { name, cuda: { facts } }: { readonly name: string; readonly cuda: { readonly facts: { readonly name: string } } },
): string =>
  `CUDA code for ${architecture}${form === 'ptx' ? ', compiled by the driver,' : ''} on ${name} (${facts.name})`;
