// Pointwise ops and casts: one map node, operands by broadcasting, dtypes by the op's rule.
import { at, dtypeInfo } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import type { ScalarRef, ValueRef } from '@tsinductor/graph';
import type { BodyBuilder } from '@tsinductor/ir';
import { resolveDTypes } from '@tsinductor/ops';
import type { Operand, PointwiseOp } from '@tsinductor/ops';
import { dtypeAttr, operandArg } from './attributes.ts';
import type { CallNode } from './attributes.ts';
import { memoryOrder } from './channels-last.ts';
import { convert, literal, load, roundedScalar, stored } from './element.ts';
import type { Element } from './element.ts';
import type { Lowering, Rule } from './lowering.ts';
import type { Target } from './program-builder.ts';
import { locate, locateBroadcast } from './view.ts';
import type { Shape, View } from './view.ts';

type Argument = ValueRef | ScalarRef;

/** The dtypes that numbers without one have in promotion. */
const SCALAR_DTYPES: Readonly<Record<ScalarRef['category'], DType>> = { bool: 'bool', int: 'i64', float: 'f32' };

export const pointwiseRule =
  (op: PointwiseOp): Rule =>
  (lowering, node) => {
    const args = Array.from({ length: op.arity }, (_, position) => operandArg(node, position));
    const operands = args.map((arg) => operandOf(lowering, arg));
    const { operands: dtypes } = resolveDTypes(op, operands);
    const views = args.flatMap((arg) => (arg.kind === 'scalar' ? [] : [lowering.view(arg)]));
    const target = laidOut(lowering, node, views);
    return lowering.program.map(target, (body, coordinates) => {
      const isRounded = op.rule === 'compare';
      const read = new OperandReader(lowering, body, { shape: target.shape, coordinates, isRounded });
      const ids = args.map((arg, position) => read.operand(arg, at(dtypes, position)).id);
      const id = body.apply(op.name, ids);
      return stored(body, { id, dtype: body.dtypeOf(id) }, target.dtype);
    });
  };

function laidOut(lowering: Lowering, node: CallNode, operands: readonly View[]): Target {
  const order = memoryOrder(lowering, node, operands);
  return { ...lowering.target(node), ...(order !== undefined && { order }) };
}

function operandOf(lowering: Lowering, arg: Argument): Operand {
  if (arg.kind === 'scalar') return { dtype: SCALAR_DTYPES[arg.category], rank: 'scalar' };
  const { dtype, axes } = lowering.view(arg);
  return { dtype, rank: axes.length === 0 ? 'zeroDim' : 'tensor' };
}

interface Point {
  readonly shape: Shape;
  readonly coordinates: Shape;
  /** Whether numbers and 0-d tensors are rounded to the operands' dtype, as what is compared with elements is. */
  readonly isRounded: boolean;
}

/** Reads the operands of one point of a map. */
class OperandReader {
  readonly #lowering: Lowering;
  readonly #body: BodyBuilder;
  readonly #point: Point;

  constructor(lowering: Lowering, body: BodyBuilder, point: Point) {
    this.#lowering = lowering;
    this.#body = body;
    this.#point = point;
  }

  /** In the compute dtype of `dtype`. Tensors with axes are first rounded to it; numbers and 0-d tensors mostly are not. */
  operand(arg: Argument, dtype: DType): Element {
    const { compute } = dtypeInfo[dtype];
    const { shape, coordinates, isRounded: areAllRounded } = this.#point;
    if (arg.kind === 'scalar') return literal(this.#body, areAllRounded ? roundedScalar(arg, dtype) : arg, compute);
    const view = this.#lowering.view(arg);
    const element = load(this.#body, view, { at: locateBroadcast(view, shape, coordinates) });
    const isRounded = (view.axes.length > 0 || areAllRounded) && view.dtype !== dtype;
    return convert(this.#body, isRounded ? convert(this.#body, element, dtype) : element, compute);
  }
}

export const castRule: Rule = (lowering, node) => {
  const source = lowering.argument(node, 0);
  return lowering.program.map(laidOut(lowering, node, [source]), (body, coordinates) =>
    stored(body, load(body, source, { at: locate(source, coordinates) }), dtypeAttr(node, 'dtype')),
  );
};
