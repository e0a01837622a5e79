// Runs programs of the kernel language on a back end and compares every element with the interpreter's, bit for bit; any NaN
// is like any other.
import { argumentsFor, programsOf } from './dsl-cases.mjs';
import { backends, interpret } from './dsl-executors.mjs';

const copy = (args) => args.map((value) => (typeof value === 'number' ? value : value.slice()));

const isNaNBits = { f16: (bits) => (bits & 0x7fff) > 0x7c00, bf16: (bits) => (bits & 0x7fff) > 0x7f80 };

function difference(program, expected, actual) {
  for (const [position, { name, dtype, kind }] of program.params.entries()) {
    if (kind === 'scalar') continue;
    const isNaN = isNaNBits[dtype] ?? Number.isNaN;
    for (let index = 0; index < expected[position].length; index++) {
      const [left, right] = [expected[position][index], actual[position][index]];
      if (Object.is(left, right) || (isNaN(left) && isNaN(right))) continue;
      return `${name}[${index}] is ${right}, not ${left}`;
    }
  }
  return undefined;
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
    const compiled = await backends[backend](group.map(({ program }) => program));
    group.forEach((one, index) => {
      const total = totals.get(one.entry);
      const wanted = Math.max(runs, Math.ceil(runs === 1 ? 1 : 104 / total.programs));
      for (let seed = 0; seed < wanted; seed++) {
        const args = argumentsFor(one, seed * 31 + index);
        const [expected, actual] = [copy(args), copy(args)];
        interpret(one.program, one.grid, expected);
        total.cases += 1;
        if (compiled[index] === undefined) {
          total.interpreted += 1;
          continue;
        }
        compiled[index](one.grid, actual);
        const wrong = difference(one.program, expected, actual);
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
