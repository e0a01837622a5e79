// The public API of @tsinductor/cli: re-exports only.
export { runCli } from './cli.ts';
export type { CliOptions } from './cli.ts';
export { importModule } from './import-module.ts';
export type { Streams } from './terminal.ts';
