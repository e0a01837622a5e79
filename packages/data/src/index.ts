// Data for training: batches of a data set in order or shuffled, from worker threads or not, with a position that is saved; files of arrays.
export { batches } from './batches.ts';
export { Batches } from './batch-sequence.ts';
export type { BatchState } from './batch-position.ts';
export type { BatchOptions } from './batch-options.ts';
export { loadCheckpoint, saveCheckpoint } from './checkpoint.ts';
export type { CheckpointParts, Stateful } from './checkpoint.ts';
export { decodeCsv, loadCsv } from './files/csv.ts';
export type { ColumnKind, CsvOptions } from './files/csv-columns.ts';
export { CsvTable } from './files/csv-table.ts';
export { decodeIdx, loadIdx } from './files/idx.ts';
export { PreparedBatches } from './prepared-batches.ts';
export type { BatchRequest, WorkerOptions } from './worker-options.ts';
export type { Dataset, Rows } from './dataset.ts';
export { prepareBatch } from './prepare-task.ts';
