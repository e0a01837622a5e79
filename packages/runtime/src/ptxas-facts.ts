// What `ptxas -v` says of each kernel: registers, memory that registers were spilled to, shared memory, barriers. In: its
// messages. Out: facts by kernel, in the order of the messages.
export interface KernelFacts {
  readonly kernel: string;
  /** `sm_80`. */
  readonly architecture: string;
  readonly registers: number;
  readonly stackBytes: number;
  readonly spillStoreBytes: number;
  readonly spillLoadBytes: number;
  /** Shared memory of fixed size; what the launch adds is not in it. */
  readonly sharedBytes: number;
  readonly constantBytes: number;
  readonly barriers: number;
}

export function parsePtxasFacts(messages: string): readonly KernelFacts[] {
  const facts: KernelFacts[] = [];
  let current: KernelFacts | undefined;
  for (const line of messages.split('\n')) {
    const entry = /Compiling entry function '([^']+)' for '([^']+)'/.exec(line);
    if (entry !== null) {
      current = { ...nothing, kernel: entry[1] ?? '', architecture: entry[2] ?? '' };
      continue;
    }
    if (current === undefined) continue;
    const stack = /(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads/.exec(line);
    if (stack !== null) {
      const [stackBytes = 0, spillStoreBytes = 0, spillLoadBytes = 0] = stack.slice(1).map(Number);
      current = { ...current, stackBytes, spillStoreBytes, spillLoadBytes };
      continue;
    }
    const registers = /Used (\d+) registers/.exec(line);
    if (registers === null) continue;
    facts.push({ ...current, registers: Number(registers[1]), ...resourcesIn(line) });
    current = undefined;
  }
  return facts;
}

const nothing: Omit<KernelFacts, 'kernel' | 'architecture'> = {
  registers: 0,
  stackBytes: 0,
  spillStoreBytes: 0,
  spillLoadBytes: 0,
  sharedBytes: 0,
  constantBytes: 0,
  barriers: 0,
};

function resourcesIn(line: string): Pick<KernelFacts, 'sharedBytes' | 'constantBytes' | 'barriers'> {
  const number = (pattern: RegExp): number =>
    [...line.matchAll(pattern)].reduce((sum, match) => sum + Number(match[1] ?? 0), 0);
  return {
    sharedBytes: number(/(\d+) bytes smem/g),
    constantBytes: number(/(\d+) bytes cmem\[\d+\]/g),
    barriers: number(/used (\d+) barriers?/g),
  };
}
