// Choices between instructions that compute the same bits.
import type { ChoiceTable } from '../choice.ts';
import { memoryBound } from '../measure.ts';

export interface InstructionChoices {
  readonly usesGather: boolean;
  readonly dividesByProducts: boolean;
}

export const instructionChoices: ChoiceTable<InstructionChoices> = {
  usesGather: {
    doc: 'Whether lanes at offsets are taken by the gather instruction of AVX-512; under a mask they always are.',
    unit: 'yes or no',
    trades:
      'one instruction, against a load for each lane; microcode mended against data sampling makes it many times slower.',
    measure: memoryBound('in cache', 'gather of elements'),
    value: false,
    families: { rapids: { value: true, because: 'it takes 0.19 ns an element there, loads 0.46' } },
  },
  dividesByProducts: {
    doc: 'Whether registers of f32 are divided by a constant as two products, and their roots taken as products, with the same bits.',
    unit: 'yes or no',
    trades: 'more instructions, against a divider that takes one vector at a time.',
    measure: memoryBound('in cache', 'image normalise and halve', 'Adam'),
    value: false,
    families: { rapids: { value: true, because: 'its divider takes 2.57 ns for a register, two products 0.84' } },
  },
};
