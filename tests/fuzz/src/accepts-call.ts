// Whether a drawn call is one that its operator takes. In: a call, and the values that there are. Out: yes, where results can be inferred
// and are of reasonable size, or where the operator fails in a way that is for the run to report.
import { at, isTsInductorError } from '@tsinductor/base';
import { bindArguments, SizeEnvironment } from '@tsinductor/graph';
import type { Meta, Operator } from '@tsinductor/graph';
import { int } from '@tsinductor/ir';
import type { Candidate, DrawnCall, Vocabulary } from './draw-call.ts';
import type { Argument } from './program.ts';
import { decode } from './run-program.ts';

/** How many elements a shape has. */
export const elements = (shape: readonly number[]): number => shape.reduce((product, size) => product * size, 1);

const rowMajor = (shape: readonly number[]): number[] => shape.map((_, axis) => elements(shape.slice(axis + 1)));

/** Whether the operator infers results of reasonable size. */
export function accepts(operator: Operator, call: DrawnCall, { values, maximumElements }: Vocabulary): boolean {
  const known: readonly Candidate[] = [
    ...values,
    ...call.fresh.map(({ dtype, shape }, position) => ({
      id: values.length + position,
      dtype,
      shape,
      strides: rowMajor(shape),
    })),
  ];
  const given = (argument: Argument): unknown => decode(argument, known as never);
  const environment = {
    isTensor: (value: unknown) => known.includes(value as Candidate),
    toValue: (value: unknown) => ({ kind: 'value', node: (value as Candidate).id, result: 0 }) as const,
    toScalar: (value: unknown) => (isScalarRef(value) ? (value as never) : undefined),
  };
  const metas = known.map(({ dtype, shape, strides }): Meta => ({
    dtype,
    shape: shape.map(int),
    strides: strides.map(int),
  }));
  try {
    const bound = bindArguments(operator, call.positional.map(given), {
      named: Object.fromEntries(Object.entries(call.named).map(([name, argument]) => [name, given(argument)])),
      environment,
    });
    const results = bound.operator.infer(
      { sizes: new SizeEnvironment(), metaOf: ({ node }) => at(metas, node) },
      bound.args,
      bound.attrs,
    );
    return results.every(({ shape }) => {
      const sizes = shape.map((size) => (size.kind === 'int' ? size.value : 1));
      return elements(sizes) <= maximumElements && sizes.length <= 6;
    });
  } catch (error) {
    // What the operator refuses is drawn again; anything else is for the run to report.
    return !(isTsInductorError(error) && error.name === 'UserError');
  }
}

const isScalarRef = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && (value as { kind?: unknown }).kind === 'scalar';
