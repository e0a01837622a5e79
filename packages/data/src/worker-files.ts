// Where the program of a worker thread is: beside the texts that users run, which `npm run build` makes, also for those who run the
// sources.
const isSource = /\/packages\/data\/(src|dist)\//.test(import.meta.url);

export const workerFiles: URL = new URL(isSource ? '../../tsinductor/lib/workers/' : '../workers/', import.meta.url);
