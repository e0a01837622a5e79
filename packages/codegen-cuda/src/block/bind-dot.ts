// Products of tiles: element by element of the result in registers, both factors in shared memory, in ascending order of the
// inner axis with one rounding a step: the definition, to the bit.
import { at } from '@tsinductor/base';
import { apply } from '@tsinductor/codegen';
import { int } from '@tsinductor/ir';
import type { Index, TileOp, Value } from '@tsinductor/ir';
import type { BlockBinder, SharedTile } from './block-binder.ts';
import { bindMatrixDot, isMatrixDot } from './bind-matrix-dot.ts';
import { elementAt, evaluateTile, evaluationAt, sharedPlace } from './evaluate-tile.ts';
import { copyToShared, prepare } from './move-tiles.ts';

export type Dot = TileOp & { readonly op: 'dot' };

export function bindDot(node: Dot, binder: BlockBinder): void {
  if (isMatrixDot(node, binder)) {
    bindMatrixDot(node, binder);
    return;
  }
  const result = at(node.results, 0);
  const layout = binder.layoutFor(result.shape);
  const factors = node.args.slice(0, 2).map((id) => copyToShared(id, binder));
  const depth = at(binder.tile(at(node.args, 0)).shape, 1);
  const sum = node.args[2];
  if (sum !== undefined) prepare([sum], layout, binder);
  const name = binder.registers(result.id, layout);
  binder.overRegisters(layout, (register) => {
    const value: Value =
      sum === undefined
        ? {
            kind: 'constant',
            value: result.dtype === 'i64' ? { bigint: '0' } : 0,
            type: { dtype: result.dtype, lanes: 1 },
          }
        : evaluateTile(sum, layout.coordinates(register), evaluationAt(binder, { layout, register }));
    binder.writer.emit({ kind: 'store', access: elementAt(name, register, result.dtype), value });
  });
  const k = binder.writer.fresh('k');
  const inner: Index = { kind: 'axis', axis: { name: k, extent: int(depth) } };
  const from = binder.tile(at(node.args, 0)).dtype;
  const factor = (shared: SharedTile, coordinates: readonly Index[]): Value => {
    const access = elementAt(shared.name, sharedPlace(shared, coordinates, binder), from);
    const value = binder.name({ kind: 'load', access, type: { dtype: from, lanes: 1 } }, `${shared.name}_at`);
    return from === result.dtype
      ? value
      : binder.name({ kind: 'cast', value, type: { dtype: result.dtype, lanes: 1 } }, 'factor');
  };
  const body = binder.writer.block([k], () => {
    binder.overRegisters(layout, (register) => {
      const [row, column] = layout.coordinates(register);
      const left = factor(at(factors, 0), [row ?? int(0), inner]);
      const right = factor(at(factors, 1), [inner, column ?? int(0)]);
      const access = elementAt(name, register, result.dtype);
      const before: Value = { kind: 'load', access, type: { dtype: result.dtype, lanes: 1 } };
      binder.writer.emit({ kind: 'store', access, value: multiplyAdd(left, right, { before, binder }) });
    });
  });
  binder.writer.emit({ kind: 'for', name: k, from: int(0), to: int(depth), step: 1, body });
  binder.homes.set(result.id, { kind: 'registers', name, layout });
}

function multiplyAdd(
  left: Value,
  right: Value,
  { before, binder }: { readonly before: Value; readonly binder: BlockBinder },
): Value {
  const { dtype } = before.type;
  if (dtype === 'f32' || dtype === 'f64') return apply('fma', [left, right, before], dtype);
  const product = binder.name(apply('mul', [left, right], dtype), 'product');
  return apply('add', [product, before], dtype);
}
