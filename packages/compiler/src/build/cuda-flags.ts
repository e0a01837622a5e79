// What the settings say to the CUDA compiler, and what is said of what it made.
import type { Config } from '@tsinductor/config';
import type { CudaFlags, KernelFacts } from '@tsinductor/runtime';

const lines: readonly string[] = ['-lineinfo'];
const allDebugging: readonly string[] = ['-g', '-G'];

/** The flags that the settings add. */
export function cudaFlagsOf({ cuda }: Config): CudaFlags {
  const { hostCompiler, enablePtxasInfo } = cuda;
  const debugging = debuggingOf(cuda);
  const annotated = enablePtxasInfo ? ['--source-in-ptx', ...(debugging.length === 0 ? lines : [])] : [];
  return {
    compile: [...(hostCompiler === null ? [] : ['-ccbin', hostCompiler]), ...debugging, ...annotated],
    assemble: [...(hostCompiler === null ? [] : ['-ccbin', hostCompiler]), ...debugging],
    fastMath: cuda.useFastMath,
    linkTime: cuda.enableCudaLto,
  };
}

function debuggingOf({ debugLevel, enableDebugInfo }: Config['cuda']): readonly string[] {
  switch (debugLevel) {
    case '0':
      return enableDebugInfo ? lines : [];
    case '1':
      return lines;
    case '2':
      return allDebugging;
    default:
      return [...(enableDebugInfo ? lines : []), ...debugLevel.split(/\s+/).filter((option) => option !== '')];
  }
}

/** What a kernel takes of a multiprocessor, in a line. */
export const factsText = ({ kernel, architecture, registers, sharedBytes, spillStoreBytes }: KernelFacts): string =>
  `${kernel} for ${architecture}: ${String(registers)} registers, ${String(sharedBytes)} bytes of shared memory, ` +
  `${String(spillStoreBytes)} bytes spilled`;
