// One build of a project: it is read, checked, and the functions that declare examples are compiled into a bundle. In: a tsconfig and
// where the bundle goes. Out: what was found, and what was made.
import { existsSync, rmSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { ts } from 'ts-morph';
import { badProject } from '../errors.ts';
import { currentState, surroundingsOf, writeState } from './build-state.ts';
import { checkFunction } from './check-function.ts';
import { checkKernel, launchConstants } from './check-kernel.ts';
import { inOrder } from './diagnostic.ts';
import type { Diagnostic } from './diagnostic.ts';
import type { BuiltFunction } from './examples-protocol.ts';
import { findSites, propertyOf } from './find-sites.ts';
import type { CompileSite, Site } from './find-sites.ts';
import { loadTsMorph } from './load-ts-morph.ts';
import type { Morph } from './load-ts-morph.ts';
import { OpenedProject } from './project.ts';
import { runExamples } from './run-examples.ts';

interface BuildRequest {
  /** A tsconfig, or a directory that has one. */
  readonly project: string;
  /** Where the bundle goes; beside the tsconfig, if undefined. */
  readonly bundle: string | undefined;
  /** Only look. */
  readonly isCheck: boolean;
}

/** Something that is compiled, as it stands in the project. */
interface FoundSite {
  readonly kind: Site['kind'];
  readonly name: string;
  readonly file: string;
  readonly line: number;
  readonly hasExamples: boolean;
}

export interface BuildResult {
  readonly tsconfig: string;
  readonly sites: readonly FoundSite[];
  readonly diagnostics: readonly Diagnostic[];
  readonly functions: readonly BuiltFunction[];
  /** Undefined where nothing was asked for, or nothing came about. */
  readonly bundle: { readonly file: string; readonly bytes: number } | undefined;
  /** Nothing had changed since the last build. */
  readonly isUpToDate: boolean;
  /** The project's files: what to watch. */
  readonly files: readonly string[];
}

/** Hears of functions as they are done. */
export type Progress = (done: number, total: number, built: BuiltFunction) => void;

export async function buildProject(request: BuildRequest, progress: Progress): Promise<BuildResult> {
  const tsconfig = tsconfigAt(request.project);
  const morph = loadTsMorph(tsconfig);
  const { options, fileNames } = parsedConfig(morph, tsconfig);
  const bundle = resolve(request.bundle ?? join(dirname(tsconfig), 'tsinductor.bundle'));
  const surroundings = surroundingsOf(tsconfig, options);
  const current = request.isCheck ? undefined : currentState(bundle, surroundings, fileNames);
  if (current !== undefined)
    return {
      tsconfig,
      sites: [],
      diagnostics: [],
      functions: current.functions,
      bundle: bundleAt(bundle),
      isUpToDate: true,
      files: Object.keys(current.files),
    };
  const project = new OpenedProject(morph, new morph.Project({ tsConfigFilePath: tsconfig }));
  const sites = findSites(project);
  const found = inOrder(faultsOf(project, sites));
  const files = project.files.map(({ fileName }) => fileName);
  const shared = { tsconfig, sites: sites.map((site) => describe(project, site)), files, isUpToDate: false };
  const examples = sites.filter((site): site is CompileSite => hasExamples(project, site));
  if (request.isCheck || found.length > 0) return { ...shared, diagnostics: found, functions: [], bundle: undefined };
  // Until there is a new bundle, programs that start find the last one.
  const { failures, functions, isSaved } = await runExamples(project, { sites: examples, bundle, progress });
  if (failures.length > 0 || !isSaved) rmSync(bundle, { force: true });
  if (failures.length === 0) writeState({ bundle, surroundings, files, functions });
  return { ...shared, diagnostics: inOrder(failures), functions, bundle: bundleAt(bundle) };
}

const bundleAt = (file: string): BuildResult['bundle'] =>
  existsSync(file) ? { file, bytes: statSync(file).size } : undefined;

/** The settings of a project and the files that they name, of the disk as it is now. Throws UserError CLI_PROJECT. */
export function projectFiles(project: string): readonly string[] {
  const tsconfig = tsconfigAt(project);
  return [tsconfig, ...parsedConfig(loadTsMorph(tsconfig), tsconfig).fileNames];
}

/** Throws UserError CLI_PROJECT. */
function tsconfigAt(place: string): string {
  const path = resolve(place);
  const file = existsSync(path) && statSync(path).isDirectory() ? join(path, 'tsconfig.json') : path;
  if (!existsSync(file)) throw badProject(file, 'there is no such file');
  return file;
}

function parsedConfig({ ts: syntax }: Morph, tsconfig: string): Pick<ts.ParsedCommandLine, 'options' | 'fileNames'> {
  const { config, error } = syntax.readConfigFile(tsconfig, (path) => syntax.sys.readFile(path)) as {
    readonly config?: unknown;
    readonly error?: ts.Diagnostic;
  };
  if (error !== undefined) throw badProject(tsconfig, syntax.flattenDiagnosticMessageText(error.messageText, ' '));
  return syntax.parseJsonConfigFileContent(config, syntax.sys, dirname(tsconfig));
}

function faultsOf(project: OpenedProject, sites: readonly Site[]): readonly Diagnostic[] {
  const launches = launchConstants(project);
  const faults = sites.flatMap((site) =>
    site.kind === 'kernel' ? checkKernel(project, site, launches) : checkFunction(project, site),
  );
  return faults.filter((fault) => !isIgnored(project, fault));
}

/** Whether the line before says so: `// tsinductor-ignore TSI1003: it is assigned before the first call`. */
function isIgnored({ files }: OpenedProject, { file, line, code }: Diagnostic): boolean {
  const text = files.find(({ fileName }) => fileName === file)?.text.split('\n')[line - 2] ?? '';
  return new RegExp(`//\\s*tsinductor-ignore\\b.*\\b${code}\\b`).test(text);
}

const hasExamples = (project: OpenedProject, site: Site): boolean =>
  site.kind === 'compile' && propertyOf(project, site.options, 'examples') !== undefined;

function describe(project: OpenedProject, site: Site): FoundSite {
  const { kind, name, node } = site;
  const source = node.getSourceFile();
  const { line } = source.getLineAndCharacterOfPosition(node.getStart(source));
  return { kind, name, file: source.fileName, line: line + 1, hasExamples: hasExamples(project, site) };
}
