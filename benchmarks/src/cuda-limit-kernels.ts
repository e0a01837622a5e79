// The kernels by which a CUDA device's limits are measured: copies of any number of streams, and chains of multiply-adds
// and of transcendental functions. Text, which nvcc compiles.

/** Streams that a request may ask for. */
export const mostReads: number = 6;
/** Multiply-adds, or evaluations, of one thread: long enough that starting it does not count. */
export const chain: number = 4096;
const parameters = (count: number): string =>
  Array.from({ length: count }, (_, i) => `const float4 *in${String(i)}`).join(', ');
const sumOf = (count: number): string =>
  Array.from(
    { length: count },
    (_, i) =>
      `const float4 v${String(i)} = in${String(i)}[i]; x += v${String(i)}.x; y += v${String(i)}.y; z += v${String(i)}.z; w += v${String(i)}.w;`,
  ).join(' ');
const copyKernel = (reads: number): string => `
extern "C" __global__ void copy_${String(reads)}(${[parameters(reads), 'float4 *out, const long writes, const long n'].filter((text) => text !== '').join(', ')}) {
  for (long i = blockIdx.x * (long)blockDim.x + threadIdx.x; i < n; i += gridDim.x * (long)blockDim.x) {
    float x = 0, y = 0, z = 0, w = 0;
    ${sumOf(reads)}
    for (long k = 0; k < writes; ++k) { float4 *const o = out + k * n + i; o->x = x; o->y = y; o->z = z; o->w = w; }
  }
}`;
/** Eight chains at once, so that latency is hidden. */
const chainKernel = (name: string, step: string): string => `
extern "C" __global__ void ${name}(float *out) {
  float v[8];
  for (int k = 0; k < 8; ++k) v[k] = (threadIdx.x + k) * 1e-4f;
  for (int i = 0; i < ${String(chain / 8)}; ++i)
    for (int k = 0; k < 8; ++k) { float &x = v[k]; ${step} }
  float sum = 0;
  for (int k = 0; k < 8; ++k) sum += v[k];
  out[blockIdx.x * (long)blockDim.x + threadIdx.x] = sum;
}`;

export const limitKernels: string = [
  ...Array.from({ length: mostReads + 1 }, (_, reads) => copyKernel(reads)),
  chainKernel('multiply_add', 'x = __fmaf_rn(x, 0.999f, 0.001f);'),
  chainKernel('rate_exp', 'x = expf(-x);'),
  chainKernel('rate_sigmoid', 'x = 1.0f / (1.0f + expf(-x));'),
  chainKernel('rate_erf', 'x = erff(x + 0.1f);'),
].join('\n');
