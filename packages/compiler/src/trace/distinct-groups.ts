// Which objects of a call could be one, going by their guards. In: guard nodes. Out: groups of slots whose objects have to
// differ, as they differed when the function was traced (distinct.ts).
import type { DistinctGroup } from './distinct.ts';
import { printTensorGuard } from './guard.ts';
import type { GuardNode } from './guard.ts';

/** `firstSlot` is the slot of the first node. */
export function distinctGroups(nodes: readonly GuardNode[], firstSlot: number): readonly DistinctGroup[] {
  const prototypes: (object | null)[] = [];
  const slotsOf = new Map<string, number[]>();
  nodes.forEach(({ expect }, index) => {
    const kind = kindOf(expect, prototypes);
    if (kind === undefined) return;
    const known = slotsOf.get(kind);
    if (known === undefined) slotsOf.set(kind, [firstSlot + index]);
    else known.push(firstSlot + index);
  });
  return [...slotsOf.values()].flatMap((slots) => (slots.length < 2 ? [] : [{ slots, met: [] }]));
}

/** Objects of different kinds meet different guards, so that they are not the same one. */
function kindOf(expect: GuardNode['expect'], prototypes: (object | null)[]): string | undefined {
  switch (expect.kind) {
    case 'tensor': {
      const { dtype, device, shape } = expect.tensor;
      const isSymbolic = shape.some((size) => typeof size !== 'number');
      return isSymbolic
        ? `tensor ${dtype} ${device} ${String(shape.length)}`
        : `tensor ${printTensorGuard(expect.tensor)}`;
    }
    case 'array':
      return `array ${String(expect.length)}`;
    case 'object':
      return `object ${JSON.stringify(expect.keys)}`;
    case 'instance': {
      const known = prototypes.indexOf(expect.prototype);
      return `instance ${String(known === -1 ? prototypes.push(expect.prototype) - 1 : known)}`;
    }
    case 'value':
    case 'number':
    case 'names':
    case 'same':
    case 'count':
      return undefined;
  }
}
