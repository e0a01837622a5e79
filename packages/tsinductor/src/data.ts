// tsinductor/data: batches of data sets, and files of arrays and tables. Re-exports only.
export { Batches, batches, CsvTable, decodeCsv, decodeIdx, loadCsv, loadIdx, PreparedBatches } from '@tsinductor/data';
export type {
  BatchOptions,
  BatchRequest,
  BatchState,
  ColumnKind,
  CsvOptions,
  Dataset,
  Rows,
  WorkerOptions,
} from '@tsinductor/data';
export { decodeNpy, loadNpy } from '@tsinductor/tensor';
