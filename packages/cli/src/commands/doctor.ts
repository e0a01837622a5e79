// `tsinductor doctor`: what this machine has for compiled code, what is missing, and how to get it. It looks at
// everything and never fails itself: each finding is a line with a verdict, and the exit status says whether compiled
// functions run natively.
import { cpus, release } from 'node:os';
import { isTsInductorError } from '@tsinductor/base';
import type { ArtifactStore } from '@tsinductor/cache';
import { explainConfig } from '@tsinductor/config';
import type { Config, ConfigWarning } from '@tsinductor/config';
import { describePlace, findToolchain, hostResources, openBridge, probeIsa, shortageHint } from '@tsinductor/runtime';
import type { Toolchain, ToolchainReport } from '@tsinductor/runtime';
import type { AddCommand, Context } from '../context.ts';
import { messageOf } from '../errors.ts';
import { formatBytes, plural } from '../table.ts';
import type { Colors, Outcome } from '../terminal.ts';
import { openGraphStore } from '../cache/open-cache.ts';
import { cudaFindings } from './doctor-cuda.ts';
import { limitFindings } from './doctor-limits.ts';

/** `note` is worth knowing, `missing` costs native code. */
type Verdict = 'ok' | 'note' | 'missing';

export interface Finding {
  readonly subject: string;
  readonly verdict: Verdict;
  readonly detail: string;
  /** What to do about it. */
  readonly remedy?: string;
}

const oldestNode: readonly [number, number] = [20, 19];

export const addDoctorCommand: AddCommand = (parser, context) =>
  parser.command('doctor', 'what this machine has for compiled code, and what is missing', {}, () => {
    runDoctor(context);
  });

/** The command without a parser, which a machine may be too short of files to load. */
export function runDoctor(context: Context): void {
  const { config, warnings } = context.resolve();
  context.finish(examine(config, warnings));
}

function examine(config: Config, warnings: readonly ConfigWarning[]): Outcome {
  // Open until all is looked at: a temporary directory goes with it.
  using cache = openCache(config);
  // As compiled functions find it: what was found before and is kept in the cache counts for them.
  const { directory } = cache;
  const { toolchain, searched } = findToolchain({
    compilers: config.cpp.cxx,
    path: config.cpp.searchPath,
    ...(directory === undefined ? {} : { directory }),
  });
  const nativeOnes = nativeFindings({ toolchain, searched }, directory);
  const hasBridge = nativeOnes.every(({ verdict }) => verdict !== 'missing');
  const findings = [
    nodeFinding(),
    ...machineFindings(),
    ...limitFindings(),
    ...cache.findings(),
    ...nativeOnes,
    ...cudaFindings(config, { toolchain: hasBridge ? toolchain : undefined, directory }),
    ...settingFindings(config),
    ...warnings.map(warningFinding),
  ];
  const native = findings.every(({ verdict }) => verdict !== 'missing');
  return {
    data: { native, findings },
    status: native ? 0 : 1,
    text: (colors) => [...findings.map((finding) => renderFinding(finding, colors)), '', conclusion(native)].join('\n'),
  };
}

const conclusion = (native: boolean): string =>
  native
    ? 'compiled functions run as native code here'
    : 'compiled functions run as generated JavaScript here: the results are the same, and it is slower';

function renderFinding({ subject, verdict, detail, remedy }: Finding, colors: Colors): string {
  const marks = { ok: colors.green('✓'), note: colors.yellow('!'), missing: colors.red('✗') };
  const hint = remedy === undefined ? '' : `\n    ${colors.dim('→')} ${remedy}`;
  return `${marks[verdict]} ${colors.bold(subject)}: ${detail}${hint}`;
}

function nodeFinding(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const recent = major > oldestNode[0] || (major === oldestNode[0] && minor >= oldestNode[1]);
  const detail = `${process.versions.node} on ${process.platform} ${process.arch}, kernel ${release()}`;
  if (recent) return { subject: 'Node.js', verdict: 'ok', detail };
  return { subject: 'Node.js', verdict: 'note', detail, remedy: `use Node ${oldestNode.join('.')} or newer` };
}

function machineFindings(): readonly Finding[] {
  const { cpus: usable, totalMemory, freeMemory } = hostResources();
  const model = cpus()[0]?.model.trim() ?? 'unknown CPU';
  return [
    { subject: 'CPU', verdict: 'ok', detail: `${model}, ${plural(usable, 'usable core')}` },
    { subject: 'memory', verdict: 'ok', detail: `${formatBytes(totalMemory)}, ${formatBytes(freeMemory)} free` },
  ];
}

interface OpenCache extends Disposable {
  findings(): readonly Finding[];
  /** Where what is found out may be kept. */
  readonly directory: string | undefined;
}

function openCache(config: Config): OpenCache {
  const warnings: Finding[] = [];
  try {
    const store = openGraphStore({
      config,
      warn: (detail) => warnings.push({ subject: 'cache', verdict: 'note', detail }),
    });
    const findings = (): readonly Finding[] => [describeCache(store, config), ...warnings];
    return {
      findings,
      directory: store.root,
      [Symbol.dispose]: () => {
        store[Symbol.dispose]();
      },
    };
  } catch (error) {
    return { findings: () => [failure('cache', error)], directory: undefined, [Symbol.dispose]: () => undefined };
  }
}

function describeCache(store: ArtifactStore, config: Config): Finding {
  const entries = store.list();
  const bytes = entries.reduce((sum, entry) => sum + entry.bytes, 0);
  const off = config.forceDisableCaches || !config.fxGraphCache ? ' (switched off by a setting)' : '';
  const detail = `${store.root}: ${plural(entries.length, 'graph')}, ${formatBytes(bytes)}${off}`;
  return { subject: 'cache', verdict: 'ok', detail };
}

type FoundToolchain = Pick<ToolchainReport, 'searched'> & { readonly toolchain: Toolchain | undefined };

const compilerRemedy =
  'install g++ or clang++ (Debian, Ubuntu: apt install g++; Fedora: dnf install gcc-c++; macOS: xcode-select --install)';

function nativeFindings({ toolchain, searched }: FoundToolchain, directory: string | undefined): readonly Finding[] {
  const subject = 'C++ compiler';
  if (toolchain === undefined) {
    const detail = searched.length === 0 ? 'none was found' : searched.map(describePlace).join('; ');
    return [{ subject, verdict: 'missing', detail, remedy: shortageHint(detail) ?? compilerRemedy }];
  }
  const detail = `${toolchain.command.join(' ')}: ${toolchain.version}`;
  const { droppedFlags = [] } = toolchain;
  const flags = `${droppedFlags.join(' ')} not passed on: such flags change what code computes`;
  return [
    { subject, verdict: 'ok', detail },
    ...(droppedFlags.length === 0 ? [] : [{ subject, verdict: 'note' as const, detail: flags }]),
    attempt('instructions', () => isaDetail(toolchain, directory)),
    ...(directory === undefined ? [] : [attempt('native bridge', () => bridgeDetail(toolchain, directory))]),
  ];
}

/** Compiled functions go by what was found and kept, so that is what counts here too. */
function isaDetail(toolchain: Toolchain, directory: string | undefined): string {
  const { isa, probed } = probeIsa(toolchain, directory === undefined ? {} : { directory });
  const others = probed.filter((it) => it.isa !== isa).map((it) => `${it.isa}: ${it.outcome}`);
  return others.length === 0 ? isa : `${isa} (${others.join(', ')})`;
}

function bridgeDetail(toolchain: Toolchain, directory: string): string {
  const bridge = openBridge({ toolchain, directory });
  return `built and loaded, ${plural(bridge.setThreads(hostResources().cpus), 'thread')}`;
}

/** A finding about something that either works or says why not. */
function attempt(subject: string, look: () => string): Finding {
  try {
    return { subject, verdict: 'ok', detail: look() };
  } catch (error) {
    return failure(subject, error);
  }
}

function failure(subject: string, error: unknown): Finding {
  const remedy = isTsInductorError(error) ? error.hint : undefined;
  return { subject, verdict: 'missing', detail: messageOf(error), ...(remedy === undefined ? {} : { remedy }) };
}

function settingFindings(config: Config): readonly Finding[] {
  const changed = explainConfig(config).filter(
    ({ source, name }) => source.layer !== 'default' && name !== 'cpp.searchPath',
  );
  return changed.map(({ name, value, source }) => ({
    subject: 'setting',
    verdict: 'note',
    detail: `${name} is ${JSON.stringify(value)}${source.variable === undefined ? '' : `, from ${source.variable}`}`,
  }));
}

const warningFinding = ({ message }: ConfigWarning): Finding => ({
  subject: 'environment',
  verdict: 'note',
  detail: message,
});
