// Bound kernels for a machine: the passes that choose instructions, in their order, between binding and printing. The printer then
// spells what the Kernel IR says.
import { truncateDivisions } from '@tsinductor/codegen';
import { mapKernel, mapValue } from '@tsinductor/ir';
import type { Kernel, KernelChange, Value } from '@tsinductor/ir';
import { choicesFor } from '../machine/choices.ts';
import type { ChoiceTarget } from '../machine/choices.ts';
import type { Machine, MachinePass } from './machine-pass.ts';
import { loadInstructions, withoutNonTemporal } from './memory-instructions.ts';
import { withFences } from './fences.ts';
import { strengthReductions } from './strength-reductions.ts';

const machinePasses: readonly MachinePass[] = [strengthReductions, loadInstructions, withoutNonTemporal];

/** The passes over values and statements as one walk, each of what those before it made; then fences, where non-temporal stores are left. */
export class ForMachine {
  readonly #change: KernelChange;

  constructor({ isa, ...target }: ChoiceTarget & Pick<Machine, 'isa'>) {
    const { usesGather, dividesByProducts } = choicesFor(target);
    const machine = { isa, usesGather, dividesByProducts };
    const changes = machinePasses.map((pass) => pass.on(machine));
    this.#change = {
      index: truncateDivisions,
      value: (value) => changes.reduce((sofar, { value: change }) => change?.(sofar) ?? sofar, value),
      statement: (statement) => changes.reduce((sofar, { statement: change }) => change?.(sofar) ?? sofar, statement),
    };
  }

  readonly kernel = (kernel: Kernel): Kernel => withFences(mapKernel(kernel, this.#change));

  /** A value that stands in no kernel, as those of the functions of ops. */
  readonly value = (value: Value): Value => mapValue(value, this.#change);
}
