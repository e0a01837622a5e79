// An element of a producer that is the same along an axis, such as one of `full`, does not depend on the index by which it is read; that
// index is required to be in range all the same. In: the place that was read, and the value that the producer computes there. Out: the
// value, chosen by those checks of the place that it does not depend on by itself.
import { dtypeInfo } from '@tsinductor/base';
import { freeIndirects, scalarOperands } from '@tsinductor/ir';
import type { BodyBuilder, Index, ScalarId } from '@tsinductor/ir';

export function keepingChecks(builder: BodyBuilder, place: Index, value: ScalarId): ScalarId {
  const checks = [...freeIndirects(place)].filter((id) => builder.node(id).kind === 'check');
  if (checks.length === 0) return value;
  const needed = neededBy(builder, value);
  const lost = checks.filter((check) => !needed.has(check));
  if (lost.length === 0) return value;
  const { compute } = dtypeInfo[builder.dtypeOf(value)];
  const zero = builder.constant(0, 'i64');
  const holds = lost
    .map((check) => builder.apply('ge', [check, zero]))
    .reduce((all, one) => builder.apply('logicalAnd', [all, one]));
  // Two values that are alike would be no choice.
  const other = Number(builder.constantOf(value)) === 0 ? 1 : 0;
  return builder.apply('where', [holds, builder.cast(value, compute), builder.constant(other, compute)]);
}

/** The nodes that a value is made of. */
function neededBy(builder: BodyBuilder, value: ScalarId): ReadonlySet<ScalarId> {
  const needed = new Set<ScalarId>();
  const open = [value];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (needed.has(next)) continue;
    needed.add(next);
    open.push(...scalarOperands(builder.node(next)));
  }
  return needed;
}
