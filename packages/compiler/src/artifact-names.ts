// The files of a compiled graph in the cache.

/** The shared object. */
export const libraryName: string = 'graph.so';
/** What a call needs beside it, as JSON. */
export const planName: string = 'plan.json';
/** The generated C++, for people. */
export const sourceName: string = 'graph.cc';
