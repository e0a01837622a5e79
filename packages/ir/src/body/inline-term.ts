// Terms as nodes of a body: the term is typed and numbered by the ops' own compiler, and its instructions become nodes,
// which fold with what is around them.
import { at, get } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { compileTerm } from '@tsinductor/ops';
import type { Instruction, Term } from '@tsinductor/ops';
import type { ScalarId } from '../scalar.ts';
import type { BodyBuilder } from './body-builder.ts';

interface TermPlace {
  readonly term: Term;
  readonly bindings: ReadonlyMap<string, ScalarId>;
  /** For literals without siblings. */
  readonly dtype: DType;
  /** Which ops inside become primitives. */
  readonly ops: 'asWritten' | 'decomposed' | 'guarded';
}

export function inlineTerm(builder: BodyBuilder, { term, bindings, dtype, ops }: TermPlace): ScalarId {
  const parameters = Object.fromEntries([...bindings].map(([name, id]) => [name, builder.dtypeOf(id)]));
  const options = { parameters, expand: ops !== 'asWritten', keepGuarded: ops === 'guarded' };
  const { instructions, results } = compileTerm(term, dtype, options);
  const ids: ScalarId[] = [];
  for (const instruction of instructions) ids.push(emit(builder, instruction, { ids, bindings }));
  return at(ids, at(results, 0));
}

interface Known {
  readonly ids: readonly ScalarId[];
  readonly bindings: ReadonlyMap<string, ScalarId>;
}

function emit(builder: BodyBuilder, instruction: Instruction, { ids, bindings }: Known): ScalarId {
  switch (instruction.kind) {
    case 'parameter':
      return get(bindings, instruction.name);
    case 'constant':
      return builder.constant(instruction.value, instruction.dtype);
    case 'cast':
      return builder.cast(at(ids, instruction.value), instruction.dtype);
    case 'bitcast':
      return builder.bitcast(at(ids, instruction.value), instruction.dtype);
    case 'apply':
      return builder.apply(
        instruction.op,
        instruction.args.map((arg) => at(ids, arg)),
      );
  }
}
