// What compile() is told of memory, as settings. In: a number from 0 to 1, or bytes with a unit. Out: a patch; undefined for anything
// else.
import type { ConfigPatch } from '@tsinductor/config';

/** Of 1000 and of 1024 bytes, as disks and memories are sold. */
const units: Readonly<Record<string, number>> = {
  B: 1,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  TiB: 2 ** 40,
};

export function budgetPatch(budget: unknown): ConfigPatch | undefined {
  if (typeof budget === 'number') return budget >= 0 && budget <= 1 ? { activationMemoryBudget: budget } : undefined;
  if (typeof budget !== 'string') return undefined;
  const [, digits, unit = ''] = /^(\d+(?:\.\d+)?) ?([KMGT]?i?B)$/.exec(budget) ?? [];
  const bytes = Math.floor(Number(digits) * (units[unit] ?? NaN));
  return bytes >= 1 && Number.isSafeInteger(bytes) ? { activationMemoryLimit: bytes } : undefined;
}
