// Accuracy of every f32 pointwise op of the table, and of every operator that is made of such, over a dense sweep, in units
// of the last place:
//
//   npm run ulp [-- --op NAME --json FILE --interpreter]
//
// Measured is the interpreter's definition, against the reference in the op's entry; the compiled C++ is required to equal
// it bit for bit on the same sweep. Prints for each op (with attributes: for each kind of call that its entry bounds) its
// worst error, the operands, and the bound that its entry states. Exit status 1 if a bound is exceeded, if C++ differs, or
// if an op that rounds has no reference. Without a compiler only the interpreter is measured, and it says so.
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { contiguousMeta, decompose, GraphBuilder, isTensorParameter, operators } from '@tsinductor/graph';
import { int } from '@tsinductor/ir';
import { evaluator, isMeasured, opError, pointwise } from '@tsinductor/ops';
import { tensor } from '@tsinductor/tensor';
import { GraphProgram } from '@tsinductor/tensor/internal';
import { severalSweep, unarySweep } from './sweep.mjs';

const { values: options } = parseArgs({
  options: {
    op: { type: 'string' },
    json: { type: 'string' },
    interpreter: { type: 'boolean', default: false },
  },
});

const sweeps = { 1: unarySweep(), 2: severalSweep(2), 3: severalSweep(3) };

/** Ops that users call and that compute on f32; those of truth values and of whole numbers do not round. */
const computesFloats = ({ accepts, rule, internal }) =>
  (accepts === undefined || accepts.includes('f32')) && rule !== 'logical' && internal !== true;
const isChosen = ({ name }) => options.op === undefined || options.op === name;

/** A call to measure: what its entry promises, its operands, and the graph that makes it. */
function subject({ name, label = name, promise, arity, selects = false, build }) {
  const within = promise.within ?? (() => true);
  const measured = sweeps[arity].filter((args) => isMeasured(promise, args) && within(...args));
  // The condition of a choice is a truth value.
  const points = selects ? measured.map(([first, ...rest]) => [Number(first > 0), ...rest]) : measured;
  const dtypes = Array.from({ length: arity }, (_, slot) => (selects && slot === 0 ? 'bool' : 'f32'));
  const builder = new GraphBuilder();
  const inputs = dtypes.map((dtype, slot) =>
    builder.placeholder(`x${slot}`, contiguousMeta([int(points.length)], dtype)),
  );
  builder.output(build(builder, inputs));
  const columns = dtypes.map((dtype, slot) => {
    const column = Float32Array.from(points, (args) => args[slot]);
    return tensor(column, dtype === 'bool' ? { dtype } : {});
  });
  return { name, label, promise, points, format: promise.format ?? 'f32', graph: decompose(builder.finish()), columns };
}

const ofTable = Object.values(pointwise)
  .filter((op) => computesFloats(op) && isChosen(op))
  .map((op) => {
    const { name, arity } = op;
    const evaluate = evaluator(op, 'f32');
    const build = (builder, inputs) => builder.call(name, inputs, {});
    const made = subject({ name, promise: op, arity, selects: op.rule === 'select', build });
    return { ...made, evaluate: () => Float32Array.from(made.points, (args) => Number(evaluate(...args))) };
  });

/** The attributes of a call, as a reader writes them. */
const shown = (attrs) =>
  Object.entries(attrs)
    .map(([key, value]) => `${key} ${typeof value === 'object' && value !== null ? value.value : value}`)
    .join(', ');

const ofOperators = [...operators.values()].filter(isChosen).flatMap((operator) =>
  (operator.accuracy ?? []).map((promise) => {
    const { name, parameters } = operator;
    const { form = { arity: parameters.filter(isTensorParameter).length } } = promise;
    const call = (builder, inputs) => builder.call(name, inputs, promise.attrs);
    const label = [`${name}()`, shown(promise.attrs)].filter((text) => text !== '').join(' ');
    const made = subject({ name, label, promise, arity: form.arity, build: form.build ?? call });
    return { ...made, evaluate: () => new GraphProgram(made.graph).run(made.columns)[0].toTypedArray() };
  }),
);

function measure(subject) {
  const { promise, points, format } = subject;
  const results = subject.evaluate();
  let worst = { error: 0, at: points[0], actual: results[0] };
  if (promise.reference !== undefined) {
    points.forEach((at, k) => {
      const error = opError(promise, at, { actual: results[k], format });
      if (error > worst.error) worst = { error, at, actual: results[k], expected: promise.reference(...at) };
    });
  }
  return { ...subject, results, worst };
}

/** Where compiled code gives other bits: the operands, or undefined. */
function firstDifference({ points, results }, compiled) {
  const values = compiled.toTypedArray();
  const place = points.findIndex((_, k) => !Object.is(results[k], values[k]));
  return place === -1 ? undefined : { at: points[place], interpreted: results[place], compiled: values[place] };
}

async function compareCompiled(measured) {
  const { compileGraphs } = await import('@tsinductor/compiler');
  const outcomes = await compileGraphs(measured.map(({ graph }) => graph));
  return outcomes.map((outcome, k) => {
    if (outcome.kind === 'failed') return { failed: String(outcome.error?.message ?? outcome.error) };
    return firstDifference(measured[k], outcome.executable.run(measured[k].columns)[0]);
  });
}

/** What the reference, a double, may itself be off by: at f32 far below a unit, at f64 a rounding. */
const slack = { f32: 1e-6, f64: 1 };

/** What is wrong with a subject; undefined if nothing is. */
function fault({ promise, worst, format }, difference) {
  if (difference?.failed !== undefined) return `does not compile: ${difference.failed}`;
  if (difference !== undefined)
    return `C++ gives ${difference.compiled} at (${difference.at.join(', ')}), the interpreter ${difference.interpreted}`;
  if (promise.reference === undefined)
    return promise.exact === undefined ? 'has neither a reference nor a reason' : undefined;
  return worst.error > promise.ulp + slack[format] ? `exceeds its bound of ${promise.ulp}` : undefined;
}

function line({ label, promise, worst }, wrong) {
  const name = label.padEnd(36);
  if (promise.reference === undefined) return `${name} ${wrong ?? `not measured: ${promise.exact}`}`;
  const where = worst.error === 0 ? '' : `at (${worst.at.join(', ')})`;
  const scaled = promise.scale === undefined ? '' : ', of its scale';
  return `${name} ${worst.error.toFixed(3).padStart(9)} of ${promise.ulp}${scaled} ${where}${wrong === undefined ? '' : `  ${wrong}`}`;
}

async function compiledDifferences(measured) {
  if (options.interpreter) return [];
  try {
    return await compareCompiled(measured);
  } catch (error) {
    if (error?.code !== 'COMPILER_NOT_FOUND') throw error;
    console.log(`only the interpreter is measured: ${error.message}`);
    return [];
  }
}

const measured = [...ofTable, ...ofOperators].map(measure);
const differences = await compiledDifferences(measured);
const rows = measured.map((each, k) => ({ ...each, wrong: fault(each, differences[k]) }));
for (const row of rows) console.log(line(row, row.wrong));
const wrong = rows.filter((row) => row.wrong !== undefined);
if (options.json !== undefined) {
  const report = rows.map(({ label, promise, points, worst, wrong: why }) => ({
    op: label,
    points: points.length,
    bound: promise.ulp,
    worst: worst.error,
    at: worst.at,
    ...(why === undefined ? {} : { why }),
  }));
  writeFileSync(options.json, JSON.stringify(report, null, 1));
}
const mode = differences.length === 0 ? 'interpreter' : 'interpreter = C++';
console.log(`ulp: ${rows.length} ops, ${wrong.length} beyond their bounds (${mode})`);
process.exitCode = wrong.length === 0 ? 0 : 1;
