// Where the programs of worker threads are: in what was built, also for those who run the sources. At the top, since the bundle
// is beside what it was made of: from both, the path is the same.
export const workerFiles: URL = new URL('../dist/build/workers/', import.meta.url);
