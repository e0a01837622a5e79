// Memory that belongs to an executable.
import { allocateBlock } from '@tsinductor/tensor/internal';
import type { Storage } from '@tsinductor/tensor/internal';

/** Memory of the pool that goes with whoever reaches it, and lives longer than any scope of the user's. */
export function memoryOf(bytes: number): Storage {
  const storage = allocateBlock(bytes);
  storage.retain();
  return storage;
}
