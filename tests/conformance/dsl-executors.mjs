// What runs the programs of the kernel language: the interpreter, which says what is right, and the back ends. A back end is
// `build(programs)`, which gives a function for each: (grid, arguments) => nothing, writing into the arrays.
import { stableHash } from '@tsinductor/base';
import { generateBlock, generateBlocks } from '@tsinductor/codegen-cpp';
import { defaultSession } from '@tsinductor/compiler';
import { interpretBlock } from '@tsinductor/ir';

export const interpret = (program, grid, args) => {
  interpretBlock(program, {
    grid,
    args: args.map((value) => (typeof value === 'number' ? value : { elements: value })),
    print: () => undefined,
  });
};

async function buildCpp(programs) {
  const session = defaultSession();
  const machine = session.requireNative();
  const target = { isa: machine.isa, mayAlias: false };
  const isBound = programs.map((program) => {
    try {
      generateBlock(program, target);
      return true;
    } catch (error) {
      if (error.code === 'KERNEL_NOT_COMPILED') return false;
      throw error;
    }
  });
  const bound = programs.filter((_, index) => isBound[index]);
  const { units, entries } = generateBlocks(bound, target);
  const key = stableHash({ kind: 'dsl', units, compiler: machine.toolchain.fingerprint, cpu: machine.isaReport.cpu });
  const request = { key, name: 'dsl', units, plan: { entries }, toolchain: machine.toolchain };
  const library = bound.length === 0 ? undefined : await session.buildBatch(request);
  let next = 0;
  return isBound.map((compiled) => {
    if (!compiled) return undefined;
    const entry = machine.bridge.load(library, entries[next]);
    const program = bound[next++];
    const buffers = program.params.filter(({ kind }) => kind === 'buffer').length + 1;
    return (grid, args) => {
      const arrays = args.filter((value) => typeof value !== 'number');
      const words = BigInt64Array.from([...args.filter((value) => typeof value === 'number').map(BigInt), 0n]);
      const addresses = [...arrays, words].map((array) => machine.bridge.addressOf(array));
      machine.bridge.bind(entry, Float64Array.from([...addresses, ...grid]), { buffers, sizes: 3 })();
    };
  });
}

/** By the name of `--backend`; emulated CUDA joins here. */
export const backends = { cpp: buildCpp };
