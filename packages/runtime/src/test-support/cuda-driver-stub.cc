// A CUDA driver for tests: keeps a log of what it is asked, has "device memory" in the host's, and fails any call on demand.
#include <cstdio>
#include <cstdlib>
#include <cstring>

static char log_text[1 << 16];
static unsigned log_length;
static char failing[64];
static int failure;
static int version = 13000;
static long next_handle = 16;

static int note(const char *call, const char *detail = "") {
  log_length += std::snprintf(log_text + log_length, sizeof log_text - log_length, "%s%s%s\n", call, *detail == 0 ? "" : " ", detail);
  if (std::strcmp(call, failing) != 0) return 0;
  const int status = failure;
  failing[0] = 0;
  return status;
}

static int handle(const char *call, long *out) {
  *out = next_handle++;
  return note(call);
}

extern "C" {
// What a test asks for: the log so far, a failure of the next call of that name, another version.
int stub_log(char *out, long bytes) {
  std::snprintf(out, bytes, "%s", log_text);
  log_length = 0;
  log_text[0] = 0;
  return 0;
}
int stub_fail(const char *call, int status) {
  std::snprintf(failing, sizeof failing, "%s", call);
  failure = status;
  return 0;
}
int stub_version(int value) { return version = value, 0; }

int cuInit(unsigned) { return note("cuInit"); }
int cuDriverGetVersion(int *out) { return *out = version, note("cuDriverGetVersion"); }
int cuGetErrorName(int status, const char **out) {
  *out = status == 719 ? "CUDA_ERROR_LAUNCH_FAILED" : "CUDA_ERROR_UNKNOWN";
  return 0;
}
int cuDeviceGet(int *out, int ordinal) { return *out = ordinal, note("cuDeviceGet"); }
int cuDeviceGetAttribute(int *out, int attribute, int) {
  *out = attribute == 75 ? 9 : attribute == 76 ? 0 : attribute == 16 ? 132 : 232448;
  return note("cuDeviceGetAttribute");
}
int cuDeviceGetName(char *out, int bytes, int) { return std::snprintf(out, bytes, "stub"), note("cuDeviceGetName"); }
int cuDeviceTotalMem_v2(size_t *out, int) { return *out = size_t(80) << 30, note("cuDeviceTotalMem_v2"); }
int cuDevicePrimaryCtxRetain(long *out, int) { return handle("cuDevicePrimaryCtxRetain", out); }
int cuDevicePrimaryCtxRelease_v2(int) { return note("cuDevicePrimaryCtxRelease_v2"); }
int cuCtxSetCurrent(long) { return note("cuCtxSetCurrent"); }
int cuStreamCreate(long *out, unsigned) { return handle("cuStreamCreate", out); }
int cuStreamSynchronize(long) { return note("cuStreamSynchronize"); }
int cuStreamDestroy_v2(long) { return note("cuStreamDestroy_v2"); }
int cuEventCreate(long *out, unsigned) { return handle("cuEventCreate", out); }
int cuEventRecord(long, long) { return note("cuEventRecord"); }
int cuEventSynchronize(long) { return note("cuEventSynchronize"); }
int cuEventElapsedTime(float *out, long, long) { return *out = 1.5f, note("cuEventElapsedTime"); }
int cuEventDestroy_v2(long) { return note("cuEventDestroy_v2"); }
int cuMemAlloc_v2(void **out, size_t bytes) {
  char detail[32];
  std::snprintf(detail, sizeof detail, "%zu", bytes);
  const int status = note("cuMemAlloc_v2", detail);
  if (status == 0) *out = std::malloc(bytes);
  return status;
}
int cuMemFree_v2(void *block) { return std::free(block), note("cuMemFree_v2"); }
int cuMemcpyHtoDAsync_v2(void *to, const void *from, size_t bytes, long) { return std::memcpy(to, from, bytes), note("cuMemcpyHtoDAsync_v2"); }
int cuMemcpyDtoHAsync_v2(void *to, const void *from, size_t bytes, long) { return std::memcpy(to, from, bytes), note("cuMemcpyDtoHAsync_v2"); }
int cuMemcpyDtoDAsync_v2(void *to, const void *from, size_t bytes, long) { return std::memcpy(to, from, bytes), note("cuMemcpyDtoDAsync_v2"); }
int cuMemsetD8Async(void *to, unsigned char byte, size_t bytes, long) { return std::memset(to, byte, bytes), note("cuMemsetD8Async"); }
int cuModuleLoadData(long *out, const void *) { return handle("cuModuleLoadData", out); }
int cuModuleUnload(long) { return note("cuModuleUnload"); }
int cuModuleGetFunction(long *out, long, const char *name) {
  *out = next_handle++;
  return note("cuModuleGetFunction", name);
}
int cuFuncSetAttribute(long, int attribute, int value) {
  char detail[48];
  std::snprintf(detail, sizeof detail, "%d %d", attribute, value);
  return note("cuFuncSetAttribute", detail);
}
int cuLaunchKernel(long, unsigned x, unsigned, unsigned, unsigned threads, unsigned, unsigned, unsigned shared, long, void **values, void **) {
  char detail[96];
  std::snprintf(detail, sizeof detail, "%u x %u shared %u: %ld %ld", x, threads, shared, *(long *)values[0], *(long *)values[1]);
  return note("cuLaunchKernel", detail);
}
}
