// The files of a compiled graph in the cache.

/** The shared object. */
export const libraryName: string = 'graph.so';
/** What a call needs beside it, as JSON. */
export const planName: string = 'plan.json';
/** The generated C++, for people. */
export const sourceName: string = 'graph.cc';
/** What nvcc makes of CUDA source: PTX, machine code, and what ptxas says of it as JSON. */
export const ptxName: string = 'kernels.ptx';
export const cubinName: string = 'kernels.cubin';
export const factsName: string = 'facts.json';
/** The generated CUDA, for people. */
export const cudaSourceName: string = 'kernels.cu';
