// What a program keeps on a tensor, beside what every tensor has: `x.scale = 2`. Properties that are there when a function is traced
// are read by guards; one that comes later changes how many there are. In: a tensor. Out: names and counts, for guards.
import type { Tensor } from '@tsinductor/tensor';

/** The properties of every tensor. */
const ofEveryTensor: readonly string[] = ['dtype', 'shape', 'device', 'uncloneable'];

/** The names of what a program keeps on a tensor. */
export const membersOf = (tensor: Tensor): readonly string[] =>
  Object.keys(tensor).filter((name) => !ofEveryTensor.includes(name));

/** Whether a tensor has as many properties as with `members`. Makes no list of them, as a guard asks at every call. */
export function hasAsMany(tensor: Tensor, members: readonly string[]): boolean {
  let count = -ofEveryTensor.length;
  // Prototypes of tensors have nothing that a loop goes over.
  for (const _ in tensor) count += 1;
  return count === members.length;
}

/** How the properties of a tensor differ from `members`, in words. */
export function changedMembers(tensor: Tensor, members: readonly string[]): string {
  const now = membersOf(tensor);
  const [added, gone] = [now.filter((name) => !members.includes(name)), members.filter((name) => !now.includes(name))];
  return [...added.map((name) => ` with ${name}`), ...gone.map((name) => ` without ${name}`)].join('');
}
