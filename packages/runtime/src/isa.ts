// Which instruction set generated code may use. In: a compiler. Out: the best of those that this compiler emits with
// the flags of generated code and that this CPU really executes: each candidate is a small program that is built and run
// in a process of its own, so an illegal instruction is an answer and not the end of this process.
//
// The answer is kept on disk under compiler, CPU model and CPU features; a warm start runs nothing. It is kept only if every better
// set was refused by the compiler or by the CPU: one that was killed, or ran out of time, memory or disk, is tried once more, and
// if that fails too, this process alone does with less (docs/notes/trust.md).
import { existsSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { sha256, stableHash } from '@tsinductor/base';
import { isaProbeFailed } from './errors.ts';
import { codeFlags, sourceOnInput } from './flags.ts';
import { readText } from './host.ts';
import { readRecord, writeRecord } from './json-record.ts';
import type { RecordPlace } from './json-record.ts';
import { runCommandSync } from './run-command.ts';
import type { CommandOutcome } from './run-command.ts';
import { makeStage, removeQuietly } from './staging.ts';
import type { Toolchain } from './toolchain.ts';

export type Isa = 'avx512' | 'avx2' | 'neon' | 'scalar';

interface ProbedIsa {
  readonly isa: Isa;
  readonly outcome: 'runs' | 'not compiled' | 'not executed' | 'wrong result';
  readonly detail: string;
  /** Whether compiler and CPU would give the same outcome again. */
  readonly lasting: boolean;
}

export interface IsaReport {
  readonly isa: Isa;
  /** Identifies the CPU in cache keys, since `-march=native` depends on it. */
  readonly cpu: string;
  /** Who made the CPU, as it says itself, such as `AuthenticAMD`; empty where it does not. */
  readonly vendor: string;
  /** What it can do, in the system's words, such as `avx512_fp16`. */
  readonly features: readonly string[];
  readonly probed: readonly ProbedIsa[];
}

interface ProbeOptions {
  /** Where the answer is kept; nothing is kept without it. */
  readonly directory?: string;
  /** A directory with answers of others, which is only read. */
  readonly readable?: string | undefined;
  /** How long one command may take, and all of them together. */
  readonly milliseconds?: number;
  readonly totalMilliseconds?: number;
  /** Sees to it that one process at a time probes, and gives what another has found meanwhile. */
  readonly alone?: (name: string, known: () => IsaReport | undefined, probe: () => IsaReport) => IsaReport;
}

interface Probe {
  readonly isa: Isa;
  /** Macros that the compiler must define. */
  readonly macros: readonly string[];
  /** What the system calls the CPU's features. */
  readonly features: readonly string[];
  /** A statement that uses the instructions and leaves 42 in `result`. */
  readonly statement: string;
}

const vectorSum = (bytes: number): string => `
  typedef int v __attribute__((vector_size(${String(bytes)})));
  volatile int one = 1;
  v x = (v){} + one;
  x = (x << 5) + x * 10;
  result = x[${String(bytes / 4 - 1)}];`;

const zmm = `${vectorSum(64)}
  asm volatile("vpternlogd $255, %%zmm16, %%zmm16, %%zmm16\\n\\tvpmullq %%xmm16, %%xmm16, %%xmm17\\n\\t"
               "vpaddb %%zmm16, %%zmm16, %%zmm18\\n\\tkmovq %%rax, %%k1" ::: "xmm16", "xmm17", "xmm18", "k1");`;

const fma = `${vectorSum(32)}
  double a = 6, b = 7, c = 0;
  asm volatile("vfmadd231sd %2, %1, %0" : "+x"(c) : "x"(a), "x"(b));
  result = result == (int)c ? result : 0;`;

/** For each architecture the instruction sets to try, best first. */
const probes: Readonly<Partial<Record<NodeJS.Architecture, readonly Probe[]>>> = {
  x64: [
    {
      isa: 'avx512',
      macros: ['__AVX512F__', '__AVX512BW__', '__AVX512DQ__', '__AVX512VL__'],
      features: ['avx512f', 'avx512bw', 'avx512dq', 'avx512vl'],
      statement: zmm,
    },
    { isa: 'avx2', macros: ['__AVX2__', '__FMA__'], features: ['avx2', 'fma'], statement: fma },
  ],
  arm64: [{ isa: 'neon', macros: ['__ARM_NEON'], features: ['asimd'], statement: vectorSum(16) }],
};
const scalarProbe: Probe = {
  isa: 'scalar',
  macros: [],
  features: [],
  statement: 'volatile int six = 6; result = six * 7;',
};

/** Building and running a small program takes a tenth of a second; what takes so long hangs. */
const commandMilliseconds = 10_000;
const probeMilliseconds = 15_000;

const probeAtOnce: NonNullable<ProbeOptions['alone']> = (_name, _known, probe) => probe();

/** The best instruction set that runs here. Throws COMPILER_UNUSABLE where not even plain code does. */
export function probeIsa(toolchain: Toolchain, options: ProbeOptions = {}): IsaReport {
  const facts = cpuFacts();
  const { alone = probeAtOnce } = options;
  const { name, place, key } = recordOf(toolchain, options, facts);
  const known = (): IsaReport | undefined => readRecord(place, key, isIsaReport);
  return (
    known() ??
    alone(name, known, () => {
      const { isa, probed } = probeAll(toolchain, options);
      const report = { isa, ...facts, probed };
      if (probed.every(({ lasting }) => lasting)) writeRecord(place, key, report);
      return report;
    })
  );
}

/** Whether the answer is on disk, so that `probeIsa` runs nothing. */
export function isIsaKnown(toolchain: Toolchain, options: Pick<ProbeOptions, 'directory' | 'readable'>): boolean {
  const { place, key } = recordOf(toolchain, options, cpuFacts());
  return readRecord(place, key, isIsaReport) !== undefined;
}

/** Keeps an answer from elsewhere, where it is of a processor like this one. */
export function keepIsa(report: IsaReport, toolchain: Toolchain, directory: string): void {
  const facts = cpuFacts();
  const { place, key } = recordOf(toolchain, { directory }, facts);
  if (report.cpu === facts.cpu) writeRecord(place, key, report);
}

/** Where the answer is kept, and under what. */
function recordOf(
  { family, fingerprint }: Toolchain,
  { directory, readable }: Pick<ProbeOptions, 'directory' | 'readable'>,
  { cpu }: Pick<IsaReport, 'cpu'>,
): { readonly name: string; readonly place: RecordPlace; readonly key: string } {
  const key = stableHash({ format: 4, compiler: fingerprint, flags: codeFlags(family), cpu });
  const name = `isa-${key.slice(0, 16)}`;
  return { name, place: { directory, readable, name: `${name}.json` }, key };
}

/**
 * What the CPU itself says that it has, without a probe: the best instruction set of the architecture, all features of which
 * it lists. For who knows that the compiler and the system can do as much.
 */
export function assertedIsa(): IsaReport {
  const facts = cpuFacts();
  const features = new Set(facts.features);
  const best = (probes[process.arch] ?? []).find((probe) => probe.features.every((feature) => features.has(feature)));
  return { isa: best?.isa ?? 'scalar', ...facts, probed: [] };
}

/** Scalar code, which needs no probe. */
export const scalarIsa = (): IsaReport => ({ isa: 'scalar', ...cpuFacts(), probed: [] });

/** Model and features of the CPU, as a digest, who made it, and the features. */
function cpuFacts(): Pick<IsaReport, 'cpu' | 'vendor' | 'features'> {
  const info = readText('/proc/cpuinfo') ?? '';
  // x86 says "flags" and "model name", ARM "Features" and "CPU part"; clock and bogomips change and stay out.
  const stable =
    /^(vendor_id|cpu family|model|model name|stepping|flags|Features|CPU (implementer|part|variant))\s*:.*$/gm;
  const lines = [...new Set(info.match(stable) ?? [])].sort();
  return {
    cpu: sha256([process.arch, cpus()[0]?.model ?? '', ...lines].join('\n')),
    vendor: /^vendor_id\s*:\s*(\S+)/m.exec(info)?.[1] ?? '',
    features: wordsOf(/^(?:flags|Features)[ \t]*:(.*)$/m.exec(info)?.[1] ?? ''),
  };
}

const wordsOf = (text: string): readonly string[] => text.split(/\s+/).filter((word) => word !== '');

/** How long a command may take, now that some time has passed; and where what is found is kept. */
interface ProbeTime {
  readonly milliseconds: number;
  readonly deadline: number;
  readonly directory: string | undefined;
}

function probeAll(toolchain: Toolchain, options: ProbeOptions): { isa: Isa; probed: ProbedIsa[] } {
  const { milliseconds = commandMilliseconds, totalMilliseconds = probeMilliseconds, directory } = options;
  const time = { milliseconds, deadline: performance.now() + totalMilliseconds, directory };
  const probed: ProbedIsa[] = [];
  for (const probe of [...(probes[process.arch] ?? []), scalarProbe]) {
    const first = runProbe(toolchain, probe, time);
    const result = first.lasting ? first : runProbe(toolchain, probe, time);
    probed.push(result);
    if (result.outcome === 'runs') return { isa: probe.isa, probed };
  }
  throw isaProbeFailed(toolchain.command.join(' '), probed.map(({ isa, detail }) => `${isa}: ${detail}`).join('; '));
}

/** In the system's temporary directory; where there is none, or programs do not run there, beside what is kept. */
function runProbe(toolchain: Toolchain, probe: Probe, time: ProbeTime): ProbedIsa {
  const { directory } = time;
  const run: ProbeRun = { toolchain, probe, time };
  if (directory === undefined) return runProbeIn(tmpdir(), run);
  if (!existsSync(tmpdir())) return runProbeIn(directory, run);
  const result = runProbeIn(tmpdir(), run);
  return result.outcome === 'not executed' && !result.lasting ? runProbeIn(directory, run) : result;
}

interface ProbeRun {
  readonly toolchain: Toolchain;
  readonly probe: Probe;
  readonly time: ProbeTime;
}

function runProbeIn(parent: string, { toolchain, probe, time: { milliseconds, deadline } }: ProbeRun): ProbedIsa {
  const { isa } = probe;
  const stage = makeStage(parent, 'tsinductor-probe-');
  try {
    const program = join(stage, 'probe');
    const environment = { ...toolchain.environment, TMPDIR: stage };
    const run = (command: readonly string[], input?: string): CommandOutcome =>
      runCommandSync(command, {
        ...(input === undefined ? {} : { input }),
        milliseconds: Math.max(1, Math.min(milliseconds, deadline - performance.now())),
        environment,
        scratch: stage,
      });
    const flags = [...codeFlags(toolchain.family), ...sourceOnInput, '-o', program];
    const built = run([...toolchain.command, ...flags], probeSource(probe));
    if (!succeeded(built))
      return { isa, outcome: 'not compiled', detail: describe(built), lasting: isRefusal.test(built.stderr) };
    const ran = run([program]);
    if (succeeded(ran)) return { isa, outcome: 'runs', detail: '', lasting: true };
    const wrong = ran.end.kind === 'exited' && ran.end.status === 1;
    const isIllegal = ran.end.kind === 'signalled' && ran.end.signal === 'SIGILL';
    const outcome = wrong ? 'wrong result' : 'not executed';
    return { isa, outcome, detail: describe(ran), lasting: wrong || isIllegal };
  } finally {
    removeQuietly(stage);
  }
}

/** What compilers and assemblers say of instructions that they do not know, and we of macros that are not defined. */
const isRefusal =
  /tsinductor:|no such instruction|unsupported (instruction|instruction set)|unknown target CPU|unrecognized/i;

const probeSource = ({ macros, statement }: Probe): string =>
  [
    '#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)',
    '#error tsinductor: this compiler turns -ffast-math on by itself, which changes what code computes',
    '#endif',
    ...macros.flatMap((macro) => [`#ifndef ${macro}`, `#error tsinductor: ${macro} is not defined`, '#endif']),
    `int main() {\n  int result = 0;\n  {${statement}\n  }\n  return result == 42 ? 0 : 1;\n}`,
    '',
  ].join('\n');

const succeeded = ({ end }: CommandOutcome): boolean => end.kind === 'exited' && end.status === 0;

function describe({ end, stderr }: CommandOutcome): string {
  const message = stderr.trim().split('\n')[0] ?? '';
  switch (end.kind) {
    case 'exited':
      return `status ${String(end.status)}${message === '' ? '' : `, ${message}`}`;
    case 'signalled':
      return `ended with ${end.signal}`;
    case 'timedOut':
      return 'timed out';
    case 'aborted':
      return 'aborted';
    case 'notStarted':
      return end.reason;
  }
}

const isIsaReport = (value: unknown): value is IsaReport =>
  typeof value === 'object' && value !== null && typeof (value as { isa?: unknown }).isa === 'string';
