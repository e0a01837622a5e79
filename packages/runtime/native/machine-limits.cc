// What the machine can do, as entries of the C ABI of generated code: each is one chunk of work, divided among the threads
// of the runtime as a kernel's is. Who calls them measures the time.
#include "abi.h"
#include "limit-loops.h"

namespace {

struct Passing {
  char *const *buffers;
  limits::Pass run;
};

void passPart(void *context, long begin, long end) {
  const auto *passing = static_cast<const Passing *>(context);
  float *arrays[4] = {};
  for (int i = 0; i < 4; i += 1) arrays[i] = reinterpret_cast<float *>(passing->buffers[i]);
  passing->run(arrays, begin * limits::block, end * limits::block);
}

void multiplyAddPart(void *, long begin, long end) {
  for (long call = begin; call < end; call += 1) limits::multiplyAdds();
}

long chunkOf(long total, const Runtime *runtime) { return (total + runtime->threads - 1) / runtime->threads; }

}  // namespace

// buffers: four arrays, of which the first `reads` are read and the next one is written to where `writes` is 1.
// sizes: the floats of an array, `reads` (1 to 3), `writes` (0 or 1), how it writes (a `Writing`), how often.
extern "C" int passArrays(char *const *buffers, const long *sizes, const Runtime *runtime) {
  const long blocks = sizes[0] / limits::block;
  const limits::Pass run = limits::passFor(static_cast<limits::Writing>(sizes[3]), sizes[1], sizes[2]);
  Passing passing{buffers, run};
  for (long pass = 0; pass < sizes[4]; pass += 1) runtime->parallel(passPart, &passing, blocks, chunkOf(blocks, runtime));
  return 0;
}

// buffers: where a double tells the arithmetic operations of the call. sizes: how often each thread does the chains.
extern "C" int multiplyAddChains(char *const *buffers, const long *sizes, const Runtime *runtime) {
  const long calls = sizes[0] * runtime->threads;
  runtime->parallel(multiplyAddPart, nullptr, calls, sizes[0]);
  *reinterpret_cast<double *>(buffers[0]) = limits::multiplyAddOperations * calls;
  return 0;
}
