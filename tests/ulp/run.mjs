// Accuracy of every f32 pointwise op of the table over a dense sweep, in units of the last place:
//
//   npm run ulp [-- --op NAME --json FILE --interpreter]
//
// Measured is the interpreter's definition, against the reference in the op's entry; the compiled C++ is required to equal
// it bit for bit on the same sweep. Prints for each op its worst error, the operands, and the bound that its entry states.
// Exit status 1 if a bound is exceeded, if C++ differs, or if an op that rounds has no reference. Without a compiler only
// the interpreter is measured, and it says so.
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { contiguousMeta, decompose, GraphBuilder } from '@tsinductor/graph';
import { int } from '@tsinductor/ir';
import { evaluator, isMeasured, opError, pointwise } from '@tsinductor/ops';
import { tensor } from '@tsinductor/tensor';
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
const chosen = Object.values(pointwise).filter(
  (op) => computesFloats(op) && (options.op === undefined || options.op === op.name),
);

/** The operands of an op: the condition of a choice is a truth value. */
const operandsOf = (op) => {
  const points = sweeps[op.arity].filter((args) => isMeasured(op, args));
  return op.rule === 'select' ? points.map(([first, ...rest]) => [Number(first > 0), ...rest]) : points;
};

function measure(op) {
  const points = operandsOf(op);
  const evaluate = evaluator(op, 'f32');
  const results = Float32Array.from(points, (args) => Number(evaluate(...args)));
  let worst = { error: 0, at: points[0], actual: results[0] };
  if (op.reference !== undefined) {
    points.forEach((at, k) => {
      const error = opError(op, at, { actual: results[k], format: 'f32' });
      if (error > worst.error) worst = { error, at, actual: results[k], expected: op.reference(...at) };
    });
  }
  return { op, points, results, worst };
}

/** The graph of one op on vectors. */
function graphOf({ op, points }) {
  const builder = new GraphBuilder();
  const inputs = points[0].map((_, slot) => {
    const dtype = op.rule === 'select' && slot === 0 ? 'bool' : 'f32';
    return builder.placeholder(`x${slot}`, contiguousMeta([int(points.length)], dtype));
  });
  builder.output(builder.call(op.name, inputs, {}));
  return decompose(builder.finish());
}

const inputsOf = ({ op, points }) =>
  points[0].map((_, slot) => {
    const column = Float32Array.from(points, (args) => args[slot]);
    return tensor(column, op.rule === 'select' && slot === 0 ? { dtype: 'bool' } : {});
  });

/** Where compiled code gives other bits: the operands, or undefined. */
function firstDifference({ points, results }, compiled) {
  const values = compiled.toTypedArray();
  const place = points.findIndex((_, k) => !Object.is(results[k], Math.fround(Number(values[k]))));
  return place === -1 ? undefined : { at: points[place], interpreted: results[place], compiled: Number(values[place]) };
}

async function compareCompiled(measured) {
  const { compileGraphs } = await import('@tsinductor/compiler');
  const outcomes = await compileGraphs(measured.map(graphOf));
  return outcomes.map((outcome, k) => {
    if (outcome.kind === 'failed') return { failed: String(outcome.error?.message ?? outcome.error) };
    return firstDifference(measured[k], outcome.executable.run(inputsOf(measured[k]))[0]);
  });
}

/** What is wrong with an op; undefined if nothing is. */
function fault({ op, worst }, difference) {
  if (difference?.failed !== undefined) return `does not compile: ${difference.failed}`;
  if (difference !== undefined)
    return `C++ gives ${difference.compiled} at (${difference.at.join(', ')}), the interpreter ${difference.interpreted}`;
  if (op.reference === undefined) return op.exact === undefined ? 'has neither a reference nor a reason' : undefined;
  // The reference is a double: it has an error of its own, far below this.
  return worst.error > op.ulp + 1e-6 ? `exceeds its bound of ${op.ulp}` : undefined;
}

function line({ op, worst }, wrong) {
  const name = op.name.padEnd(18);
  if (op.reference === undefined) return `${name} ${wrong ?? `not measured: ${op.exact}`}`;
  const where = worst.error === 0 ? '' : `at (${worst.at.join(', ')})`;
  const scaled = op.scale === undefined ? '' : ', of its scale';
  return `${name} ${worst.error.toFixed(3).padStart(12)} of ${op.ulp}${scaled} ${where}${wrong === undefined ? '' : `  ${wrong}`}`;
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

const measured = chosen.map(measure);
const differences = await compiledDifferences(measured);
const rows = measured.map((each, k) => ({ ...each, wrong: fault(each, differences[k]) }));
for (const row of rows) console.log(line(row, row.wrong));
const wrong = rows.filter((row) => row.wrong !== undefined);
if (options.json !== undefined) {
  const report = rows.map(({ op, points, worst, wrong: why }) => ({
    op: op.name,
    points: points.length,
    bound: op.ulp,
    worst: worst.error,
    at: worst.at,
    ...(why === undefined ? {} : { why }),
  }));
  writeFileSync(options.json, JSON.stringify(report, null, 1));
}
const mode = differences.length === 0 ? 'interpreter' : 'interpreter = C++';
console.log(`ulp: ${rows.length} ops, ${wrong.length} beyond their bounds (${mode})`);
process.exitCode = wrong.length === 0 ? 0 : 1;
