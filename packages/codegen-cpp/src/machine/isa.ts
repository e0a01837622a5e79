// The vector registers of each instruction set that code is generated for.

export type Isa = 'avx512' | 'avx2' | 'neon' | 'scalar';

interface RegisterModel {
  /** Bytes of a vector register; 0: scalar code. */
  readonly vectorBytes: number;
  readonly vectorRegisters: number;
}

export const registerModels: Readonly<Record<Isa, RegisterModel>> = {
  avx512: { vectorBytes: 64, vectorRegisters: 32 },
  avx2: { vectorBytes: 32, vectorRegisters: 16 },
  neon: { vectorBytes: 16, vectorRegisters: 32 },
  scalar: { vectorBytes: 0, vectorRegisters: 0 },
};

/** Lanes of a full vector of elements with `bytes` bytes. */
export const lanesFor = (isa: Isa, bytes: number): number =>
  Math.max(1, Math.floor(registerModels[isa].vectorBytes / bytes));

/** Whether lanes so far apart, or backwards, are taken out of the few registers that they lie in: see prelude/spread-functions.ts. */
export function isSpread(
  isa: Isa,
  { lanes, bytes }: { readonly lanes: number; readonly bytes: number },
  step: number | undefined,
): boolean {
  const isRegister = lanes >= 4 && lanes * bytes <= registerModels[isa].vectorBytes;
  return isRegister && step !== undefined && (step === -1 || (step > 1 && step <= 4));
}
