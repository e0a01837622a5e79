// Which instruction sets compiled tests can use here. A test of generated code for one that the processor lacks is skipped, and says so.
import { readFileSync } from 'node:fs';
import { arch } from 'node:os';

type Isa = 'avx512' | 'avx2' | 'neon' | 'scalar';

/** What the processor says of itself, on Linux. */
function flagsOfCpu(): ReadonlySet<string> {
  try {
    const line = /^flags\s*:(.*)$/m.exec(readFileSync('/proc/cpuinfo', 'utf8'))?.[1] ?? '';
    return new Set(line.split(' '));
  } catch {
    return new Set();
  }
}

const needed: Readonly<Record<Isa, readonly string[]>> = {
  avx512: ['avx512f', 'avx512bw', 'avx512dq', 'avx512vl'],
  avx2: ['avx2', 'fma', 'f16c'],
  neon: [],
  scalar: [],
};

/** Whether this processor runs code for the instruction set. NEON code is vectors of the compiler, which run everywhere. */
export function runsHere(isa: Isa): boolean {
  if (isa === 'scalar' || isa === 'neon') return true;
  const flags = flagsOfCpu();
  return arch() === 'x64' && needed[isa].every((flag) => flags.has(flag));
}

/** Those of `rows` whose instruction set this processor has; the others are named on standard error. */
export function runnable<Row>(rows: readonly Row[], isaOf: (row: Row) => Isa): readonly Row[] {
  const missing = new Set(rows.map(isaOf).filter((isa) => !runsHere(isa)));
  for (const isa of missing) process.stderr.write(`host ring skipped on ${isa}: this processor does not have it\n`);
  return rows.filter((row) => runsHere(isaOf(row)));
}
