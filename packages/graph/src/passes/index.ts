// Passes from graph to graph: re-exports only.
export { decompose } from './decompose.ts';
export { splitAtHosts } from './split-at-hosts.ts';
export type { GraphPart, HostNode } from './split-at-hosts.ts';
export { resolveSizes } from './resolve-sizes.ts';
export { graphPasses, latePasses, optimize, primitivesForm } from './optimize.ts';
export type { GraphPassName, OptimizeOptions } from './optimize.ts';
export { removeDead } from './remove-dead.ts';
