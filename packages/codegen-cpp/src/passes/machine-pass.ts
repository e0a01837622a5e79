// What a pass over bound kernels for a machine is. It changes values and statements one by one, into others that mean the same.
import type { KernelChange } from '@tsinductor/ir';
import type { Choices } from '../machine/choices.ts';
import type { CpuTarget } from '../machine/target.ts';

/** What is known of a machine where instructions are chosen. */
export type Machine = Pick<CpuTarget, 'isa'> & Pick<Choices, 'usesGather' | 'dividesByProducts'>;

export interface MachinePass {
  readonly name: string;
  readonly doc: string;
  /** What it changes on a machine. */
  readonly on: (machine: Machine) => Partial<KernelChange>;
}
