// The header with which generated CUDA runs on the host: text that a C++ compiler gets in front of an unchanged .cu.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const cudaEmulationHeader = (): string =>
  readFileSync(fileURLToPath(new URL('../native/cuda-emulation.h', import.meta.url)), 'utf8');
