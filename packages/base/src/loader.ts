// How the bundles of this project's packages are loaded, for their entries and for the build that makes them. Re-exports only.
export { codeFile, loadBundle, packCode } from './load-bundle.ts';
export type { CompiledText } from './load-bundle.ts';
