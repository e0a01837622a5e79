// A CUDA driver for tests: keeps a log of what it is asked, has "device memory" in the host's, and fails any call on demand.
// Where the code that it loads is what the emulated nvcc makes (nvcc.mjs), a launch runs it on the emulation of CUDA.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <map>
#include <string>
#include <unistd.h>

static char log_text[1 << 16];
static unsigned log_length;
static char failing[64];
static int failure, failures;
static int version = 13000;
static int devices = 2;
static long next_handle = 16;
static char fault[512];

struct Kernel {
  std::string name;
  /** A letter for each parameter: r and w for memory that is read and written, s for sizes; empty for code that is not emulated. */
  const char *kinds;
  int (*run)(void **values, long blocks, unsigned threads, unsigned shared, const size_t *room);
  const char *(*message)();
};
static std::map<long, void *> modules;
static std::map<long, Kernel> kernels;
static std::map<char *, size_t> allocations;

static int note(const char *call, const char *detail = "") {
  if (log_length + 256 < sizeof log_text)
    log_length += std::snprintf(log_text + log_length, sizeof log_text - log_length, "%s%s%.200s\n", call, *detail == 0 ? "" : " ", detail);
  if (std::strcmp(call, failing) != 0) return 0;
  if (--failures == 0) failing[0] = 0;
  return failure;
}

static int handle(const char *call, long *out) {
  *out = next_handle++;
  return note(call);
}

extern "C" {
// What a test asks for: the log so far, failures of the next calls of that name, another version.
int stub_log(char *out, long bytes) {
  std::snprintf(out, bytes, "%s", log_text);
  log_length = 0;
  log_text[0] = 0;
  return 0;
}
int stub_fail(const char *call, int status, int times) {
  std::snprintf(failing, sizeof failing, "%s", call);
  failure = status;
  failures = times;
  return 0;
}
int stub_version(int value) { return version = value, 0; }
int stub_devices(int value) { return devices = value, 0; }
// What the emulation found wrong with the launch that failed last.
int stub_fault(char *out, long bytes) { return std::snprintf(out, bytes, "%s", fault), 0; }

int cuInit(unsigned) { return note("cuInit"); }
int cuDriverGetVersion(int *out) { return *out = version, note("cuDriverGetVersion"); }
int cuGetErrorName(int status, const char **out) {
  *out = status == 719 ? "CUDA_ERROR_LAUNCH_FAILED" : "CUDA_ERROR_UNKNOWN";
  return 0;
}
int cuDeviceGetCount(int *out) { return *out = devices, note("cuDeviceGetCount"); }
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
int cuMemAlloc_v2(char **out, size_t bytes) {
  char detail[32];
  std::snprintf(detail, sizeof detail, "%zu", bytes);
  const int status = note("cuMemAlloc_v2", detail);
  if (status != 0) return status;
  *out = static_cast<char *>(std::aligned_alloc(512, bytes));
  std::memset(*out, 0xa5, bytes);
  allocations[*out] = bytes;
  return 0;
}
int cuMemFree_v2(char *block) {
  allocations.erase(block);
  std::free(block);
  return note("cuMemFree_v2");
}
int cuMemcpyHtoDAsync_v2(void *to, const void *from, size_t bytes, long) { return std::memcpy(to, from, bytes), note("cuMemcpyHtoDAsync_v2"); }
int cuMemcpyDtoHAsync_v2(void *to, const void *from, size_t bytes, long) { return std::memcpy(to, from, bytes), note("cuMemcpyDtoHAsync_v2"); }
int cuMemcpyDtoDAsync_v2(void *to, const void *from, size_t bytes, long) { return std::memcpy(to, from, bytes), note("cuMemcpyDtoDAsync_v2"); }
int cuMemsetD8Async(void *to, unsigned char byte, size_t bytes, long) { return std::memset(to, byte, bytes), note("cuMemsetD8Async"); }
int cuModuleLoadData(long *out, const char *image) {
  const int status = handle("cuModuleLoadData", out);
  if (status != 0 || std::memcmp(image, ELFMAG, SELFMAG) != 0) return status;
  // The table of sections is the last thing in a file.
  const auto *header = reinterpret_cast<const Elf64_Ehdr *>(image);
  const size_t bytes = header->e_shoff + size_t(header->e_shentsize) * header->e_shnum;
  char path[] = "/tmp/tsinductor-emulated-XXXXXX";
  const int file = mkstemp(path);
  if (file < 0 || write(file, image, bytes) != static_cast<ssize_t>(bytes)) return 304;
  close(file);
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  unlink(path);
  if (library == nullptr) return std::snprintf(fault, sizeof fault, "%s", dlerror()), 200;
  modules[*out] = library;
  return 0;
}
int cuModuleUnload(long) { return note("cuModuleUnload"); }
int cuModuleGetFunction(long *out, long module, const char *name) {
  *out = next_handle++;
  Kernel kernel{name, "", nullptr, nullptr};
  const auto found = modules.find(module);
  if (found != modules.end()) {
    const auto symbol = [&](const std::string &prefix) { return dlsym(found->second, (prefix + name).c_str()); };
    if (symbol("emulated_run_") == nullptr) return 500;
    kernel.kinds = static_cast<const char *>(symbol("emulated_kinds_"));
    kernel.run = reinterpret_cast<decltype(kernel.run)>(symbol("emulated_run_"));
    kernel.message = reinterpret_cast<const char *(*)()>(dlsym(found->second, "emulated_message"));
  }
  kernels[*out] = kernel;
  return note("cuModuleGetFunction", name);
}
int cuFuncSetAttribute(long, int attribute, int value) {
  char detail[48];
  std::snprintf(detail, sizeof detail, "%d %d", attribute, value);
  return note("cuFuncSetAttribute", detail);
}
int cuLaunchKernel(long function, unsigned x, unsigned, unsigned, unsigned threads, unsigned, unsigned, unsigned shared, long, void **values, void **) {
  const Kernel &kernel = kernels[function];
  char detail[96];
  if (kernel.run == nullptr)
    std::snprintf(detail, sizeof detail, "%u x %u shared %u: %ld %ld", x, threads, shared, *(long *)values[0], *(long *)values[1]);
  else
    std::snprintf(detail, sizeof detail, "%s %u x %u shared %u", kernel.name.c_str(), x, threads, shared);
  const int status = note("cuLaunchKernel", detail);
  if (status != 0 || kernel.run == nullptr) return status;
  // How far each buffer reaches: to the next one in the same allocation, or to its end. An address outside is illegal.
  size_t room[256] = {};
  const size_t count = std::strlen(kernel.kinds);
  for (size_t slot = 0; slot < count; ++slot) {
    if (kernel.kinds[slot] == 's') continue;
    char *const address = *static_cast<char **>(values[slot]);
    auto after = allocations.upper_bound(address);
    if (after == allocations.begin()) return 700;
    const auto &[base, bytes] = *--after;
    if (address >= base + bytes) return 700;
    room[slot] = base + bytes - address;
    for (size_t other = 0; other < count; ++other) {
      if (kernel.kinds[other] == 's') continue;
      char *const next = *static_cast<char **>(values[other]);
      if (next > address && size_t(next - address) < room[slot]) room[slot] = next - address;
    }
  }
  if (kernel.run(values, x, threads, shared, room) == 0) return 0;
  std::snprintf(fault, sizeof fault, "%s", kernel.message());
  return 719;
}
}
