// What native code needs of a machine beside itself, taken to one that may have no compiler: which compiler made it, what the processor
// was found to do, and the native bridge. In: a machine as it was found. Out: files; and back, into the directory where this process
// looks for such things. What does not fit the new machine (another processor, another Node) is left out, and found out there anew.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sha256 } from '@tsinductor/base';
import { bridgeName, digestName, findBridge, libraryName } from './build-bridge.ts';
import { keepIsa } from './isa.ts';
import type { IsaReport } from './isa.ts';
import { makeStage, removeQuietly } from './staging.ts';
import { keepCarried } from './toolchain.ts';
import type { Toolchain, ToolchainReport } from './toolchain.ts';

/** A machine that has a compiler, as it was found. */
interface FoundMachine {
  readonly report: ToolchainReport;
  readonly isaReport: IsaReport;
}

/** Where what was found is kept. */
interface MachinePlace {
  readonly directory: string;
  readonly readable?: string | undefined;
}

interface Description extends FoundMachine {
  /** The name of the bridge's directory, which says what it was built of and for. */
  readonly bridge: string;
}

const descriptionName = 'machine.json';

/** The files of a machine; undefined where it has no bridge yet. */
export function packMachine(
  { report, isaReport }: FoundMachine,
  place: MachinePlace,
): Readonly<Record<string, Uint8Array>> | undefined {
  const { toolchain } = report;
  if (toolchain === undefined) return undefined;
  const options = { toolchain, ...place };
  const path = findBridge(options);
  if (path === undefined) return undefined;
  const description: Description = { report, isaReport, bridge: bridgeName(options) };
  return { [descriptionName]: Buffer.from(JSON.stringify(description)), [libraryName]: readFileSync(path) };
}

/** Puts such files where a process looks that keeps what it finds in `directory`; false, and nothing done, where they are none. */
export function unpackMachine(files: Readonly<Record<string, Uint8Array>>, directory: string): boolean {
  const [description, bridge] = [descriptionIn(files[descriptionName]), files[libraryName]];
  if (description === undefined || bridge === undefined) return false;
  const { report, isaReport, bridge: name } = description;
  const { toolchain } = report;
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  keepCarried(report, directory);
  keepIsa(isaReport, toolchain, directory);
  const options = { toolchain, directory };
  if (bridgeName(options) !== name || findBridge(options) !== undefined) return true;
  const stage = makeStage(directory, '.bridge-');
  writeFileSync(join(stage, libraryName), bridge, { mode: 0o600 });
  writeFileSync(join(stage, digestName), `${sha256(bridge)}\n`, { mode: 0o600 });
  try {
    renameSync(stage, join(directory, name));
  } catch {
    // Another process was faster; or what is there is damaged, and whoever looks for it builds it.
    removeQuietly(stage);
  }
  return true;
}

/** A description of a machine with a compiler, as `packMachine` writes it. */
type WholeDescription = Description & { readonly report: { readonly toolchain: Toolchain } };

function descriptionIn(bytes: Uint8Array | undefined): WholeDescription | undefined {
  try {
    const value = JSON.parse(Buffer.from(bytes ?? []).toString('utf8')) as WholeDescription;
    return isWhole(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Throws where a part is missing. */
function isWhole({ report, isaReport, bridge }: WholeDescription): boolean {
  const { command, family, fingerprint } = report.toolchain;
  const texts: readonly unknown[] = [...command, fingerprint, isaReport.cpu, bridge];
  const hasLists = Array.isArray(command) && Array.isArray(report.searched);
  return hasLists && ['gcc', 'clang'].includes(family) && texts.every((text) => typeof text === 'string');
}
