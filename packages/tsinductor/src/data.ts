// tsinductor/data: batches of data sets, and files of arrays and tables. Re-exports only.
export {
  Batches,
  batches,
  CsvTable,
  decodeCsv,
  decodeIdx,
  loadCsv,
  loadCheckpoint,
  loadIdx,
  PreparedBatches,
  saveCheckpoint,
} from '@tsinductor/data';
export type {
  BatchOptions,
  BatchRequest,
  BatchState,
  CheckpointParts,
  ColumnKind,
  CsvOptions,
  Dataset,
  Rows,
  Stateful,
  WorkerOptions,
} from '@tsinductor/data';
export { decodeNpy, loadNpy } from '@tsinductor/tensor';
