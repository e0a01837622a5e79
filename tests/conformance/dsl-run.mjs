// Runs programs of the kernel language on a back end and compares every element with the interpreter's, bit for bit, and every
// line that is printed; any NaN is like any other. Only what an executor says it sums in another order (see `sumsInOwnOrder`) is held to the bound of a
// contraction instead: n * epsilon * sum |x|, which the interpreter computes from the arguments' magnitudes.
import { argumentsFor, programsOf } from './dsl-cases.mjs';
import { backends, interpret } from './dsl-executors.mjs';

const copy = (args) => args.map((value) => (typeof value === 'number' ? value : value.slice()));

const isNaNBits = { f16: (bits) => (bits & 0x7fff) > 0x7c00, bf16: (bits) => (bits & 0x7fff) > 0x7f80 };

/** Half a unit in the last place of f32, in which such sums are. */
const epsilon = 2 ** -24;

/** How far each element may be off: nowhere, unless a bound says how large the summands are and how many there may be. */
const toleranceOf = (bound, position, index) =>
  bound === undefined ? 0 : bound.summands * epsilon * Math.abs(bound.magnitudes[position][index]);

function difference(program, { expected, actual, bound }) {
  for (const [position, { name, dtype, kind }] of program.params.entries()) {
    if (kind === 'scalar') continue;
    const isNaN = isNaNBits[dtype] ?? Number.isNaN;
    for (let index = 0; index < expected[position].length; index++) {
      const [left, right] = [expected[position][index], actual[position][index]];
      if (Object.is(left, right) || (isNaN(left) && isNaN(right))) continue;
      if (Math.abs(left - right) <= toleranceOf(bound, position, index)) continue;
      return `${name}[${index}] is ${right}, not ${left}`;
    }
  }
  return undefined;
}

/** Roundings of a sum on either side: no program here has an inner extent of more than 32. */
const summands = 2 * 32;

/** The same program on the magnitudes of its arguments: what is summed, without cancellation. */
function boundOf({ program, grid }, args) {
  const magnitudes = args.map((value, position) => {
    if (typeof value === 'number') return value;
    const sign = { f16: 0x7fff, bf16: 0x7fff }[program.params[position].dtype];
    return value.map((element) => (sign === undefined ? Math.abs(Number(element)) : element & sign));
  });
  interpret(program, grid, magnitudes);
  return { magnitudes, summands };
}

/** The first line that is another one. */
function lineDifference(expected, actual) {
  const length = Math.max(expected.length, actual.length);
  for (let index = 0; index < length; index++)
    if (expected[index] !== actual[index]) return `it prints ${actual[index]}, not ${expected[index]}`;
  return undefined;
}

/** What an executor prints, or reports instead of a result. */
function linesOrFailure(run) {
  try {
    return { lines: run() };
  } catch (error) {
    return { failure: error.message, lines: [] };
  }
}

/** Runs `entries`; calls `report` for each with its counts and mismatches. */
export async function runDsl(entries, { backend = 'cpp', runs, perText, batch = 60, report }) {
  const programs = entries.flatMap((name) => programsOf(name, { perText }));
  const totals = new Map(
    entries.map((name) => [name, { entry: name, cases: 0, programs: 0, interpreted: 0, mismatches: [] }]),
  );
  for (const one of programs) totals.get(one.entry).programs += 1;
  for (let start = 0; start < programs.length; start += batch) {
    const group = programs.slice(start, start + batch);
    const compiled = await backends[backend].build(group.map(({ program }) => program));
    group.forEach((one, index) => {
      const total = totals.get(one.entry);
      const wanted = Math.max(runs, Math.ceil(runs === 1 ? 1 : 104 / total.programs));
      for (let seed = 0; seed < wanted; seed++) {
        const args = argumentsFor(one, seed * 31 + index);
        const [expected, actual] = [copy(args), copy(args)];
        const printed = interpret(one.program, one.grid, expected);
        total.cases += 1;
        if (compiled[index] === undefined) {
          total.interpreted += 1;
          continue;
        }
        const bound = compiled[index].sumsInOwnOrder === true ? boundOf(one, args) : undefined;
        const { lines, failure } = linesOrFailure(() => compiled[index](one.grid, actual));
        const wrong = failure ?? difference(one.program, { expected, actual, bound }) ?? lineDifference(printed, lines);
        if (wrong !== undefined)
          total.mismatches.push(
            `${one.entry} ${one.dtype} ${JSON.stringify(one.shape)} seed ${seed}: ${wrong}\n  ${one.text}`,
          );
      }
    });
    report?.(Math.min(start + batch, programs.length), programs.length);
  }
  return [...totals.values()];
}
