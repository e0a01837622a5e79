// Checkpoints: everything that a training goes on from, in one safetensors file. A part is whatever tells its state and takes one back: modules,
// optimisers, schedules, batches, and objects of a program.
import { randomUUID } from 'node:crypto';
import { rename, rm, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { decodeSafetensors, encodeSafetensors, noGrad, randomState } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import { badFile, describe, fileAccess, readBytes } from '@tsinductor/tensor/file-access';
import { isRecord } from './dataset.ts';
import { checkpointDiffers, notAPart, notParts } from './errors.ts';
import { flattenState, unflattenState } from './state-tree.ts';

/** What has a state. */
export interface Stateful {
  /** Tensors, numbers, text, and lists and records of them. */
  stateDict(): unknown;
  loadStateDict(state: never): unknown;
}

/** Parts by name. The state of the random numbers is kept besides, as `random`. */
export type CheckpointParts = Readonly<Record<string, Stateful>>;

const random = 'random';

/**
 * Writes the states of all parts, and that of the random numbers, as they are when it is called. The file is whole at any time: it is
 * written beside the old one, whose place it takes.
 *
 * ```ts
 * await saveCheckpoint('run.safetensors', { model, optimizer, schedule, train });
 * ```
 *
 * The tensors of a module are `model.conv1.weight` and so on there, which other programs read as any safetensors file.
 *
 * @throws UserError FILE_ACCESS, DATA_CHECKPOINT_PART
 */
export async function saveCheckpoint(path: string | URL, parts: CheckpointParts): Promise<void> {
  checkParts(parts);
  const tensors = new Map<string, Tensor>([[random, randomState()]]);
  const metadata: Record<string, string> = {};
  for (const [name, part] of Object.entries(parts)) metadata[name] = flattenState(name, part.stateDict(), tensors);
  const bytes = encodeSafetensors(tensors, metadata);
  const target = pathOf(path);
  const beside = `${target}.${randomUUID()}.new`;
  try {
    await writeFile(beside, bytes, { flush: true });
    await rename(beside, target);
  } catch (cause) {
    await rm(beside, { force: true }).catch(() => undefined);
    throw fileAccess(target, cause);
  }
}

function pathOf(path: string | URL): string {
  try {
    return typeof path === 'string' ? path : fileURLToPath(path);
  } catch (cause) {
    throw fileAccess(String(path), cause);
  }
}

/**
 * Gives every part the state that it had when the checkpoint was written, and the random numbers theirs: what follows is the same, bit for bit.
 *
 * ```ts
 * await loadCheckpoint('run.safetensors', { model, optimizer, schedule, train });
 * ```
 *
 * @throws UserError FILE_ACCESS, FILE_FORMAT, DATA_CHECKPOINT_PART, and DATA_CHECKPOINT for a file of other parts, having changed nothing; what a part throws
 *   for a state that is not its own, having changed the parts before it
 */
export async function loadCheckpoint(path: string | URL, parts: CheckpointParts): Promise<void> {
  checkParts(parts);
  const { tensors, metadata } = decodeSafetensors(await readBytes(path));
  const [wanted, found] = [Object.keys(parts), [...metadata.keys()]];
  if (wanted.length !== found.length || wanted.some((name) => !metadata.has(name)))
    throw checkpointDiffers(found, wanted);
  const generator = tensors.get(random);
  const own = randomState();
  if (generator?.dtype !== own.dtype || generator.shape.join() !== own.shape.join())
    throw badFile('checkpoint', 'it has no state of the random numbers');
  const states = Object.entries(parts).map(
    ([name, part]) => [part, unflattenState(metadata.get(name) ?? '', tensors)] as const,
  );
  for (const [part, state] of states) part.loadStateDict(state as never);
  noGrad(() => own.copy_(generator));
}

function checkParts(parts: CheckpointParts): void {
  if (!isRecord(parts)) throw notParts(describe(parts));
  for (const [name, part] of Object.entries(parts) as [string, Partial<Stateful> | undefined][]) {
    const isStateful = typeof part?.stateDict === 'function' && typeof part.loadStateDict === 'function';
    if (name === random || !isStateful) throw notAPart(name);
  }
}
