// checkOp: a custom op tested as the built-in ones are. In: an op, and arguments for one call. Out: a verdict for each thing
// that can be wrong. `eager` is the reference: everything else is compared with it, on copies of the arguments.
import { at, isTsInductorError } from '@tsinductor/base';
import { contiguousStrides, SizeEnvironment } from '@tsinductor/graph';
import type { Meta } from '@tsinductor/graph';
import { evaluateIndex, int, printIndex } from '@tsinductor/ir';
import type { Tensor } from '@tsinductor/tensor';
import { findAlias, mutatedPositions, rawResults, sharesMemory, writesAreShared } from '@tsinductor/tensor/internal';
import { compile } from '../compile.ts';
import { checkGradient } from './check-gradient.ts';
import { badCheckOption, checkFailedError, checkNames, makeReport } from './check-report.ts';
import type { CheckName, CheckReport, CheckVerdict } from './check-report.ts';
import { bitsOf, checkedCall, copiesOf, describeTensor } from './checked-call.ts';
import type { AnyCustomOp, CheckedCall } from './checked-call.ts';
import { differenceOf } from './compare-results.ts';

export interface CheckOptions {
  /** False: the report is given whatever it says. */
  readonly raiseException?: boolean;
}

type Outcome = Pick<CheckVerdict, 'outcome' | 'detail'>;

const passed = (detail: string): Outcome => ({ outcome: 'passed', detail });
const failed = (detail: string): Outcome => ({ outcome: 'failed', detail });

const checks: Readonly<Record<CheckName, (checked: CheckedCall) => Outcome>> = {
  schema: checkSchema,
  meta: checkMeta,
  'symbolic meta': checkSymbolicMeta,
  determinism: checkDeterminism,
  compiled: (checked) => checkCompiled(checked, false),
  'compiled for any size': (checked) => checkCompiled(checked, true),
  gradient: checkGradient,
};

/**
 * Tests a custom op with the arguments of one call: that it writes to what its schema says and gives memory of its own; that
 * `meta` says what `eager` gives, also for symbolic sizes; that two calls give the same; that a compiled function gives
 * what eager mode gives, for one size and for any; that `gradient` agrees with finite differences in f64. The
 * arguments stay as they are.
 *
 * @param inputs Arguments as the op is called with, the last of which may be options by name. A list per thing that matters
 * (dtypes, empty tensors, strides) is a call of checkOp each.
 * @example checkOp(scaledAdd, [randn([3, 4]), randn([3, 4]), { alpha: 0.5 }]);
 * @throws UserError CUSTOM_OP_CHECK with everything that failed, unless `raiseException` is false; the errors of operators
 * where the arguments do not fit the schema
 * @see torch.library.opcheck
 */
export function checkOp(op: AnyCustomOp, inputs: readonly unknown[], options: CheckOptions = {}): CheckReport {
  const { raiseException = true, ...strangers } = options;
  const [stranger] = Object.keys(strangers);
  if (stranger !== undefined || typeof raiseException !== 'boolean') throw badCheckOption(stranger);
  const checked = checkedCall(op, inputs);
  const verdicts = checkNames.map((check): CheckVerdict => ({ check, ...attempt(() => checks[check](checked)) }));
  const report = makeReport(op.name, verdicts);
  if (raiseException && !report.passed) throw checkFailedError(report);
  return report;
}

/** What an implementation throws is a verdict. */
function attempt(check: () => Outcome): Outcome {
  try {
    return check();
  } catch (error) {
    const code = isTsInductorError(error) ? `${error.code}: ` : '';
    return failed(`${code}${String((error as { message?: unknown } | null)?.message ?? error)}`);
  }
}

/** The schema and what the op does: what it writes to, and whose memory it gives. */
function checkSchema({ code, call }: CheckedCall): Outcome {
  const tensors = copiesOf(call.tensors);
  const before = tensors.map(bitsOf);
  const results = rawResults(code, call, tensors);
  const declared = mutatedPositions(code, call);
  // A write to a marked argument shows in what shares its memory.
  const isMarked = (position: number): boolean =>
    declared.some((target) => target === position || sharesMemory(at(tensors, target), at(tensors, position)));
  const written = tensors.findIndex((tensor, position) => !isMarked(position) && bitsOf(tensor) !== before[position]);
  const shared = findAlias(results, tensors);
  if (written !== -1)
    return failed(`it writes to tensor argument ${String(written)}, which the schema does not mark: write Tensor(a!)`);
  if (shared !== undefined) return failed(`it gives ${shared}: clone() it`);
  return passed(
    declared.length === 0
      ? 'it writes to nothing, and gives memory of its own'
      : 'it writes to what is marked, and gives memory of its own',
  );
}

const staticMeta = ({ dtype, shape, strides }: Tensor): Meta => ({
  dtype,
  shape: shape.map(int),
  strides: strides.map(int),
});

const inferWith = ({ code, call }: CheckedCall, metas: readonly Meta[], sizes: SizeEnvironment): readonly Meta[] =>
  code.operator.infer({ sizes, metaOf: ({ node }) => at(metas, node) }, call.args, call.attrs);

/** Shape, dtype and strides that `meta` says, and those of what `eager` gives. */
function checkMeta(checked: CheckedCall): Outcome {
  const { code, call } = checked;
  const results = rawResults(code, call, copiesOf(call.tensors));
  const metas = inferWith(checked, call.tensors.map(staticMeta), new SizeEnvironment());
  if (metas.length !== results.length)
    return failed(`meta says ${String(metas.length)} results, and eager gives ${String(results.length)}`);
  for (const [position, result] of results.entries()) {
    const { dtype, shape } = at(metas, position);
    const said = `${dtype}[${shape.map((size) => printIndex(size)).join(', ')}]`;
    const name = `result ${String(position)}`;
    if (said !== describeTensor(result))
      return failed(`meta says ${said} of ${name}, and eager gives ${describeTensor(result)}`);
    if (!result.isContiguous())
      return failed(
        `eager gives ${name} with strides [${result.strides.join(', ')}], and results are contiguous: call contiguous()`,
      );
  }
  return passed(`${results.map(describeTensor).join(', ')}, as eager gives`);
}

/** `meta` where sizes are symbols, against `meta` where they are numbers: for these sizes, and for others. */
function checkSymbolicMeta(checked: CheckedCall): Outcome {
  const { tensors } = checked.call;
  const environment = new SizeEnvironment();
  const hints = new Map<string, number>();
  const symbolic = tensors.map(({ dtype, shape }, tensor): Meta => {
    const sizes = shape.map((size, axis) => {
      if (size < 2) return int(size);
      const name = `t${String(tensor)}_${String(axis)}`;
      hints.set(name, size);
      return environment.declare(name, size);
    });
    return { dtype, shape: sizes, strides: contiguousStrides(sizes) };
  });
  const found = inferWith(checked, symbolic, environment);
  const guards = environment.guards();
  // Equal sizes stay equal, as an op may ask for that.
  for (const more of [0, 1, 5]) {
    const sizes = new Map([...hints].map(([name, size]) => [name, size + more]));
    if (!guards.every((guard) => SizeEnvironment.holds(guard, sizes))) continue;
    const shapes = tensors.map(({ shape }) => shape.map((size) => (size < 2 ? size : size + more)));
    const expected = metasFor(checked, shapes);
    const problem = expected === undefined ? undefined : metaDifference(expected, found, sizes);
    if (problem !== undefined)
      return failed(`for arguments of ${shapes.map((shape) => `[${shape.join(', ')}]`).join(', ')} ${problem}`);
  }
  const fixed = guards.map(({ left, relation, right }) => `${printIndex(left)} ${relation} ${printIndex(right)}`);
  return passed(
    fixed.length === 0
      ? 'the same as for numbers, for every size'
      : `the same as for numbers, where ${fixed.join(', ')}: other sizes are compiled anew`,
  );
}

/** What `meta` says for numbers; undefined where it refuses those. */
function metasFor(checked: CheckedCall, shapes: readonly (readonly number[])[]): readonly Meta[] | undefined {
  const metas = shapes.map((shape, position): Meta => {
    const sizes = shape.map(int);
    return { dtype: at(checked.call.tensors, position).dtype, shape: sizes, strides: contiguousStrides(sizes) };
  });
  try {
    return inferWith(checked, metas, new SizeEnvironment());
  } catch {
    return undefined;
  }
}

function metaDifference(
  expected: readonly Meta[],
  found: readonly Meta[],
  sizes: ReadonlyMap<string, number>,
): string | undefined {
  const print = (metas: readonly Meta[]): string =>
    metas
      .map(({ dtype, shape }) => `${dtype}[${shape.map((size) => evaluateIndex(size, { sizes })).join(', ')}]`)
      .join(', ');
  const [said, meant] = [print(found), print(expected)];
  return said === meant ? undefined : `meta says ${said} with symbols, and ${meant} with numbers`;
}

interface Run {
  readonly results: readonly Tensor[];
  readonly tensors: readonly Tensor[];
}

const runEagerly = ({ call, apply }: CheckedCall): Run => {
  const tensors = copiesOf(call.tensors);
  return { results: apply(tensors), tensors };
};

/** Two runs on equal arguments. */
function checkDeterminism(checked: CheckedCall): Outcome {
  const [first, second] = [runEagerly(checked), runEagerly(checked)];
  const problem = compareRuns(first, second, 'bits');
  if (problem === undefined) return passed('two calls give the same bits');
  return failed(`two calls differ, the second one being compared with the first: ${problem}`);
}

const compareRuns = (expected: Run, found: Run, precision: 'bits' | 'close'): string | undefined =>
  differenceOf(expected.results, found.results, { what: 'result', precision }) ??
  differenceOf(expected.tensors, found.tensors, { what: 'tensor argument', precision });

/** The op in a compiled function, which is one graph. */
function checkCompiled(checked: CheckedCall, dynamic: boolean): Outcome {
  const { code, call, apply } = checked;
  const isLowered = code.definition.lowering !== undefined;
  const tensors = copiesOf(call.tensors);
  const written = mutatedPositions(code, call).map((position) => at(tensors, position));
  // A call that writes to memory which its arguments share runs in segments.
  const fullgraph = written.length === 0 || !writesAreShared(written, tensors);
  const compiled = compile((...given: Tensor[]) => apply(given), { fullgraph, dynamic, name: code.name });
  const found: Run = { results: compiled(...tensors), tensors };
  const problem = compareRuns(runEagerly(checked), found, isLowered ? 'close' : 'bits');
  const [graph] = compiled.graphs();
  if (problem !== undefined) return failed(`${problem} (${graph?.runsOn ?? 'no graph'})`);
  return passed(isLowered ? 'the lowering agrees with eager' : 'the host callback gives what eager gives');
}
