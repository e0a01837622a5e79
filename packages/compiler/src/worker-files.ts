// Where the programs of worker threads are: beside the texts that users run, which `npm run build` makes, also for those who run
// the sources. At the top of the sources, where the way there is short.
import { isBundled } from './build/build-fingerprint.ts';

export const workerFiles: URL = new URL(isBundled ? '../workers/' : '../../tsinductor/lib/workers/', import.meta.url);
