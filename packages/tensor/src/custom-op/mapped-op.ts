// Custom ops under vmap: the one kind of call that is a loop over samples, as nobody knows what such an op does but itself. One with a
// lowering is the operators that it is made of.
import { at } from '@tsinductor/base';
import { SizeEnvironment, sizesAttr } from '@tsinductor/graph';
import { int } from '@tsinductor/ir';
import type { BoundCall } from '../bound-call.ts';
import { dispatchOne } from '../dispatch.ts';
import { metaOf } from '../eager/executor.ts';
import { mappedWrite } from '../mapping/errors.ts';
import { countOf, mappedTensor, outside } from '../mapping/level.ts';
import type { MapLevel } from '../mapping/level.ts';
import { differing } from '../mapping/whole.ts';
import { processState } from '../process-state.ts';
import type { Tensor } from '../tensor.ts';
import { mutatedPositions, runLowering } from './custom-op.ts';
import type { CustomOpCode } from './custom-op.ts';

/** The new results of a call of which a tensor is at `level`; `run` gives those of one sample. */
export function mappedResults(
  code: CustomOpCode,
  { operator, args, attrs, tensors, device }: BoundCall,
  { level, run }: { readonly level: MapLevel; readonly run: (call: BoundCall) => readonly Tensor[] },
): readonly Tensor[] {
  const call = { operator, args, attrs, tensors, device };
  const { lowering } = code.definition;
  if (lowering !== undefined) return runLowering(code, call, lowering).map((result) => differing(result, level));
  const sources = tensors.map((tensor) => outside(tensor, level));
  for (const position of mutatedPositions(code, call))
    if (!at(sources, position).differs) throw mappedWrite(code.name, at(tensors, position).shape);
  if (countOf(level) === 0) return ofNoSamples(code, call).map((whole) => mappedTensor(level, whole, true));
  const samples = Array.from({ length: countOf(level) }, (_, sample) =>
    run({
      ...call,
      tensors: sources.map(({ whole, differs }) => (differs ? dispatchOne('select', [whole, 0, sample]) : whole)),
    }),
  );
  return at(samples, 0).map((_, position) => {
    const whole = dispatchOne('stack', [samples.map((results) => at(results, position)), 0]);
    return mappedTensor(level, whole, true);
  });
}

/** Without a sample nothing is called: `meta` says what results would be. */
function ofNoSamples(code: CustomOpCode, { args, attrs, tensors }: BoundCall): readonly Tensor[] {
  const sizes = processState.recorder?.sizes ?? new SizeEnvironment();
  const metas = code.operator.infer({ sizes, metaOf: ({ node }) => metaOf(at(tensors, node)) }, args, attrs);
  return metas.map(({ dtype, shape }) => dispatchOne('zeros', [sizesAttr([int(0), ...shape])], { dtype }));
}
