// What a row of the tables of structure cases is.
import type { StructureCase } from './expect-kernels.ts';

export type Case = StructureCase;
