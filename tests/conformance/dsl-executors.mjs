// What runs the programs of the kernel language: the interpreter, which says what is right, and the back ends. A back end is
// `build(programs)`, which gives a function for each: (grid, arguments) => the lines that it prints, writing into the arrays.
import { stableHash } from '@tsinductor/base';
import { generateBlock, generateBlocks, printedEntry, printLogWords } from '@tsinductor/codegen-cpp';
import { emulatedUnit, generateCudaBlocks } from '@tsinductor/codegen-cuda';
import { defaultSession, emulationMessage, tellPrinted } from '@tsinductor/compiler';
import { interpretBlock } from '@tsinductor/ir';
import { cudaEmulationHeader } from '@tsinductor/runtime';

export const interpret = (program, grid, args) => {
  const lines = [];
  interpretBlock(program, {
    grid,
    args: args.map((value) => (typeof value === 'number' ? value : { elements: value })),
    print: (line) => lines.push(line),
  });
  return lines;
};

/** The lines of a log that native code has written. */
const linesOf = (bridge, { library, symbol, log }) => {
  const lines = [];
  const failure = tellPrinted({ bridge, entry: bridge.load(library, symbol), log, print: (line) => lines.push(line) });
  if (failure !== undefined) throw new Error(`program ${failure.unit} fails at site ${failure.site}`);
  return lines;
};

/** Which programs `generate` has a form for. */
const boundBy = (programs, generate) =>
  programs.map((program) => {
    try {
      generate(program);
      return true;
    } catch (error) {
      if (error.code === 'KERNEL_NOT_COMPILED') return false;
      throw error;
    }
  });

/** A function for each program that is bound, from the entries of those that are; undefined for the others. */
const runners = (programs, isBound, make) => {
  let next = 0;
  return programs.map((program, index) => (isBound[index] ? make(program, next++) : undefined));
};

const build = (session, machine, { units, plan }) => {
  const key = stableHash({ kind: 'dsl', units, compiler: machine.toolchain.fingerprint, cpu: machine.isaReport.cpu });
  return session.builder.library({ key, name: 'dsl', units, plan, toolchain: machine.toolchain });
};

/** The addresses of a program's arrays, and last of the words of its scalars; the arrays are kept alive by who calls. */
const arraysOf = (args) => [
  ...args.filter((value) => typeof value !== 'number'),
  BigInt64Array.from([...args.filter((value) => typeof value === 'number').map(BigInt), 0n]),
];

async function buildCpp(programs) {
  const session = defaultSession();
  const machine = session.requireNative();
  const target = { isa: machine.isa, mayAlias: false };
  const isBound = boundBy(programs, (program) => generateBlock(program, target));
  const { units, entries, logs } = generateBlocks(
    programs.filter((_, index) => isBound[index]),
    target,
  );
  const library = entries.length === 0 ? undefined : await build(session, machine, { units, plan: { entries } });
  return runners(programs, isBound, (_, position) => {
    const entry = machine.bridge.load(library, entries[position]);
    return (grid, args) => {
      const log = logs[position] ? [new BigInt64Array(printLogWords)] : [];
      const arrays = [...arraysOf(args), ...log];
      const addresses = arrays.map((array) => machine.bridge.addressOf(array));
      machine.bridge.bind(entry, Float64Array.from([...addresses, ...grid]), { buffers: arrays.length, sizes: 3 })();
      return log.flatMap((words) => linesOf(machine.bridge, { library, symbol: printedEntry, log: words }));
    };
  });
}

/** CUDA kernels of two warps, run by the host's emulation of CUDA in both orders of threads. */
async function buildEmulated(programs) {
  const session = defaultSession();
  const machine = session.requireNative();
  const target = { architecture: 'sm_80', warps: 2, stages: 2, mayAlias: false };
  const isBound = boundBy(programs, (program) => generateCudaBlocks([program], target));
  const bound = programs.filter((_, index) => isBound[index]);
  const unit = emulatedUnit(generateCudaBlocks(bound, target), { header: cudaEmulationHeader(), name: 'emulated' });
  const units = [{ name: unit.name, source: unit.source }];
  const entries = unit.programs.map(({ entry }) => entry);
  const library = entries.length === 0 ? undefined : await build(session, machine, { units, plan: { entries } });
  return runners(programs, isBound, (_, position) => {
    const entry = machine.bridge.load(library, entries[position]);
    const run = (grid, args) => {
      const arrays = arraysOf(args);
      const sizes = [...grid, ...arrays.slice(0, -1).map((array) => array.byteLength)];
      const table = Float64Array.from([...arrays.map((array) => machine.bridge.addressOf(array)), ...sizes]);
      const status = machine.bridge.bind(entry, table, { buffers: arrays.length, sizes: sizes.length })();
      if (status !== 0) throw new Error(emulationMessage(machine.bridge, library));
      const log = new BigInt64Array(printLogWords);
      const moveLog = machine.bridge.load(library, unit.logEntry);
      machine.bridge.bind(moveLog, Float64Array.of(machine.bridge.addressOf(log)), { buffers: 1, sizes: 0 })();
      return linesOf(machine.bridge, { library, symbol: unit.printedEntry, log });
    };
    const [{ notes }] = unit.programs[position].kernels;
    return Object.assign(run, { sumsInOwnOrder: notes.some((note) => note.includes('by matrix instructions')) });
  });
}

/** By the name of `--backend`; `programs`: how many dtypes and shapes of each text a run tries unless it is told. */
export const backends = {
  cpp: { build: buildCpp, programs: 12 },
  'cuda-emulated': { build: buildEmulated, programs: 2 },
};
