// Every error of the command line, by name.
import { ToolchainError, UserError } from '@tsinductor/base';
import { shortageHint } from '@tsinductor/runtime';

/** The arguments of the command line are not understood. */
export const badArguments = (message: string): UserError =>
  new UserError('CLI_ARGUMENTS', message, { hint: 'run `tsinductor --help` for the commands and their options' });

/** The package that reads arguments is not there, or could not be read. */
export const parserNotLoaded = (cause: unknown): ToolchainError =>
  new ToolchainError('CLI_NOT_LOADED', `the command could not be loaded: ${messageOf(cause)}`, {
    hint: shortageHint(messageOf(cause)) ?? 'install the package again',
    cause,
  });

export const fileMissing = (file: string): UserError =>
  new UserError('CLI_FILE', `there is no file ${file}`, { hint: 'give the path of a TypeScript or JavaScript module' });

export const typeScriptNotLoaded = (file: string): UserError =>
  new UserError('CLI_TYPESCRIPT', `nothing here loads the TypeScript of ${file}`, {
    hint: 'run `npm install --save-dev tsx` in its project, or use Node 22.18 or later',
  });

export const nothingCompiled = (file: string): UserError =>
  new UserError('CLI_NOTHING_COMPILED', `${file} exports no compiled function and no workloads`, {
    hint: 'export what compile() returned after calling it, or `workloads: { name, inputs: () => Tensor[], fn }[]`',
  });

export const loadFailed = (file: string, cause: unknown): UserError =>
  new UserError('CLI_FILE_FAILED', `${file} could not be loaded: ${messageOf(cause)}`, {
    cause,
    hint: 'run it with `tsinductor run` to see where it fails',
  });

/** What `tsinductor cache` says without a command. */
export const cacheNeedsCommand: string =
  'cache needs a command: ls, stats, why, verify, gc, clear, export, import or key';

export const noSuchEntry = (what: string, root: string): UserError =>
  new UserError('CLI_CACHE_ENTRY', `no entry of ${root} is ${JSON.stringify(what)} by its key or name`, {
    hint: '`tsinductor cache ls` lists keys and names',
  });

export const cacheOnlyRead = (root: string): UserError =>
  new UserError('CLI_CACHE_READ_ONLY', `nothing is removed from ${root}: this user cannot write there`, {
    hint: 'run it as the user who owns the directory',
  });

export const nothingToExport = (root: string): UserError =>
  new UserError('CLI_CACHE_EMPTY', `there is nothing in ${root} to export`, {
    hint: 'run the program that compiles once, or `tsinductor cache export` where it ran',
  });

export const noSuchSetting = (name: string): UserError =>
  new UserError('CLI_SETTING', `no setting's name contains ${JSON.stringify(name)}`, {
    hint: '`tsinductor config` lists all settings',
  });

export const tsMorphMissing = (): UserError =>
  new UserError('CLI_TS_MORPH', 'reading a project needs the package ts-morph, which is not installed', {
    hint: 'run `npm install --save-dev ts-morph` in the project',
  });

export const badProject = (tsconfig: string, reason: string): UserError =>
  new UserError('CLI_PROJECT', `${tsconfig} is no project: ${reason}`, {
    hint: 'give the path of a tsconfig.json, or of a directory that has one',
  });

export const buildFailed = (reason: string): UserError =>
  new UserError('CLI_BUILD', `the examples could not be compiled: ${reason}`, {
    hint: 'import the module that compiles them in a program of its own, to see where it fails',
  });

export const noTrace = (directory: string): UserError =>
  new UserError('CLI_TRACE', `${directory} holds no events`, {
    hint: 'name the directory that TORCH_TRACE named when the program ran',
  });

/** The message of anything that was thrown. */
export const messageOf = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'message' in error ? String(error.message) : String(error);
