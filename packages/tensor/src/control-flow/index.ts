// Loops and branches that belong to a graph.
export { associativeScan } from './associative-scan.ts';
export type { AssociativeScanOptions } from './associative-scan.ts';
export { cond, switchCase } from './cond.ts';
export { map, scan } from './scan.ts';
export type { ScanOptions } from './scan.ts';
export { whileLoop } from './while-loop.ts';
