// How a machine loads lanes that are not side by side, and whether it has non-temporal stores.
import { dtypeInfo } from '@tsinductor/base';
import { constantValue } from '@tsinductor/ir';
import type { LoadInstructions, Value } from '@tsinductor/ir';
import { gatherInstruction } from '../prelude/memory-functions.ts';
import { spreadsUnderMask } from '../prelude/spread-functions.ts';
import { isSpread } from '../machine/isa.ts';
import type { Machine, MachinePass } from './machine-pass.ts';

type Load = Value & { readonly kind: 'load' };

function instructionsFor({ type, access, mask }: Load, machine: Machine): LoadInstructions | undefined {
  const { lanes, dtype } = type;
  if (lanes === 1) return undefined;
  const isWhole = mask === undefined && access.count === undefined;
  if (access.offsets === undefined) {
    const register = { lanes, bytes: dtypeInfo[dtype].bytes };
    const step = constantValue(access.step);
    const isPermuted = isSpread(machine.isa, register, step) && (isWhole || spreadsUnderMask(type, step, machine.isa));
    return isPermuted ? 'permute' : undefined;
  }
  const gathers = machine.isa === 'avx512' && gatherInstruction(type, access.offsets.type) !== undefined;
  // Lanes that a mask leaves out must not be read, which is a branch for each where they are loaded one by one.
  return gathers && (!isWhole || machine.usesGather) ? 'gather' : undefined;
}

export const loadInstructions: MachinePass = {
  name: 'load instructions',
  doc: 'lanes a few elements apart are permuted out of the vectors that they lie in; lanes at offsets are gathered where that is fast',
  on: (machine) => ({
    value: (value) => {
      if (value.kind !== 'load') return value;
      const by = instructionsFor(value, machine);
      return by === undefined ? value : { ...value, by };
    },
  }),
};

/** Non-temporal stores are instructions of an x86. */
export const withoutNonTemporal: MachinePass = {
  name: 'no non-temporal stores',
  doc: 'on machines without non-temporal stores, what is to be written so is written as anything else',
  on: ({ isa }) =>
    isa === 'avx512' || isa === 'avx2'
      ? {}
      : {
          statement: (statement) => {
            if (statement.kind !== 'store' && statement.kind !== 'transpose') return statement;
            const { hint, ...written } = statement;
            return hint === undefined ? statement : written;
          },
        },
};
