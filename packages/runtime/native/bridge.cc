// The Node-API addon between JavaScript and generated code: memory, loading, bound calls, threads.
//
// Everything here trusts its caller, the TypeScript wrapper in `bridge.ts`, which has checked types and ranges. What can
// still fail (memory, dlopen, a missing symbol) throws a JavaScript error with a code. Loaded entries and the thread pool
// belong to the process, so ids are valid in all of its threads; what the collector found (`watches.h`) is the only state
// of one JavaScript thread.
//
// A bound call takes no arguments. Addresses and sizes are read from a Float64Array that JavaScript writes beforehand:
// doubles hold user-space addresses and safe integers exactly, and reading them costs a nanosecond, where asking
// Node-API about each typed array costs about ten.
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <node_api.h>
#include <pthread.h>

#include "abi.h"
#include "float-environment.h"
#include "foreign-call.h"
#include "loop.h"
#include "memory.h"
#include "thread-pool.h"
#include "watches.h"

namespace {

constexpr size_t maxArguments = 4;
constexpr size_t entriesPerPage = 1024;
constexpr size_t maxPages = 1024;

pthread_mutex_t entriesGate = PTHREAD_MUTEX_INITIALIZER;
Entry *entryPages[maxPages];  // pages never move, so a reader needs no lock
size_t entryCount = 0;
Runtime runtime = {pool::parallel, 1};

struct Arguments {
  napi_value values[maxArguments];
  size_t count = maxArguments;
  void *data = nullptr;
  Arguments(napi_env env, napi_callback_info info) { napi_get_cb_info(env, info, &count, values, nullptr, &data); }
};

napi_value fail(napi_env env, const char *code, const char *message) {
  napi_throw_error(env, code, message);
  return nullptr;
}

double toDouble(napi_env env, napi_value value) {
  double result = 0;
  napi_get_value_double(env, value, &result);
  return result;
}

napi_value fromDouble(napi_env env, double value) {
  napi_value result = nullptr;
  napi_create_double(env, value, &result);
  return result;
}

void *dataOf(napi_env env, napi_value typedArray) {
  void *data = nullptr;
  napi_get_typedarray_info(env, typedArray, nullptr, nullptr, &data, nullptr, nullptr);
  return data;
}

template <typename T> T *pointer(double address) { return reinterpret_cast<T *>(static_cast<intptr_t>(address)); }

template <typename T> double address(T *pointer) { return static_cast<double>(reinterpret_cast<intptr_t>(pointer)); }

// ---- memory

void finalizeBlock(napi_env, void *, void *hint) {
  auto *block = static_cast<memory::Block *>(hint);
  memory::release(block);
  std::free(block);
}

// allocate(bytes, out): ArrayBuffer; out[0] is the address, out[1] the record for `release`.
napi_value allocate(napi_env env, napi_callback_info info) {
  Arguments arguments(env, info);
  const auto bytes = static_cast<size_t>(toDouble(env, arguments.values[0]));
  auto *out = static_cast<double *>(dataOf(env, arguments.values[1]));
  memory::Block *block = memory::allocate(bytes);
  if (block == nullptr) return fail(env, "OUT_OF_MEMORY", "the system has no memory left");
  napi_value buffer = nullptr;
  if (napi_create_external_arraybuffer(env, block->address, bytes, finalizeBlock, block, &buffer) != napi_ok) {
    // Node has thrown, or refuses external buffers; in neither case will it call the finalizer with memory of ours.
    bool pending = false;
    napi_is_exception_pending(env, &pending);
    return pending ? nullptr : fail(env, "EXTERNAL_BUFFERS_REFUSED", "this JavaScript engine refuses external memory");
  }
  out[0] = address(block->address);
  out[1] = address(block);
  return buffer;
}

// release(buffer, record): detaches the buffer, then gives the memory back at once. Returns whether it did.
napi_value release(napi_env env, napi_callback_info info) {
  Arguments arguments(env, info);
  auto *block = pointer<memory::Block>(toDouble(env, arguments.values[1]));
  memory::Block copy = *block;
  block->released = true;  // before detaching, which may run the finalizer
  const bool detached = napi_detach_arraybuffer(env, arguments.values[0]) == napi_ok;
  if (detached) memory::release(&copy);
  else block->released = false;
  napi_value result = nullptr;
  napi_get_boolean(env, detached, &result);
  return result;
}

// addressOf(typedArray): its first element's address. Moves a small array off the JavaScript heap for good.
napi_value addressOf(napi_env env, napi_callback_info info) {
  Arguments arguments(env, info);
  return fromDouble(env, address(dataOf(env, arguments.values[0])));
}

// preferHugePages(typedArray): for all of it, which nobody has touched yet.
napi_value preferHugePages(napi_env env, napi_callback_info info) {
  Arguments arguments(env, info);
  void *data = nullptr;
  size_t bytes = 0;
  napi_get_typedarray_info(env, arguments.values[0], nullptr, &bytes, &data, nullptr, nullptr);
  memory::preferHugePages(data, bytes);
  return nullptr;
}

// ---- what the collector found

// openWatches(count): from now on count[0] is how many ids wait.
napi_value openWatches(napi_env env, napi_callback_info info) {
  Arguments arguments(env, info);
  auto *count = static_cast<double *>(dataOf(env, arguments.values[0]));
  if (!watches::open(env, arguments.values[0], count)) return fail(env, "OUT_OF_MEMORY", "the system has no memory left");
  return nullptr;
}

// watch(object, id): `id` waits once the object is unreachable.
napi_value watch(napi_env env, napi_callback_info info) {
  Arguments arguments(env, info);
  if (watches::watch(env, arguments.values[0], toDouble(env, arguments.values[1]))) return nullptr;
  return fail(env, "OUT_OF_MEMORY", "the system has no memory left");
}

// takeFound(out): moves ids that wait to `out`; returns how many.
napi_value takeFound(napi_env env, napi_callback_info info) {
  Arguments arguments(env, info);
  void *out = nullptr;
  size_t most = 0;
  napi_get_typedarray_info(env, arguments.values[0], nullptr, &most, &out, nullptr, nullptr);
  return fromDouble(env, static_cast<double>(watches::take(env, static_cast<double *>(out), most)));
}

// ---- loading

bool store(Entry entry, size_t *id) {
  pthread_mutex_lock(&entriesGate);
  const size_t page = entryCount / entriesPerPage;
  bool stored = page < maxPages;
  if (stored && entryPages[page] == nullptr) {
    entryPages[page] = static_cast<Entry *>(std::calloc(entriesPerPage, sizeof(Entry)));
    stored = entryPages[page] != nullptr;
  }
  if (stored) {
    entryPages[page][entryCount % entriesPerPage] = entry;
    *id = entryCount++;
  }
  pthread_mutex_unlock(&entriesGate);
  return stored;
}

// load(path, symbol): id. The library stays loaded for good.
napi_value load(napi_env env, napi_callback_info info) {
  Arguments arguments(env, info);
  char path[PATH_MAX], symbol[256];
  size_t pathLength = 0, symbolLength = 0;
  napi_get_value_string_utf8(env, arguments.values[0], path, sizeof path, &pathLength);
  napi_get_value_string_utf8(env, arguments.values[1], symbol, sizeof symbol, &symbolLength);
  if (pathLength + 1 >= sizeof path || symbolLength + 1 >= sizeof symbol) {
    return fail(env, "LIBRARY_NOT_LOADED", "the path or the symbol is too long");
  }
  const uint32_t before = readFloatEnvironment();
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  const uint32_t after = readFloatEnvironment();
  writeFloatEnvironment(before);
  if (library == nullptr) return fail(env, "LIBRARY_NOT_LOADED", dlerror());
  if (after != before) {
    dlclose(library);
    writeFloatEnvironment(before);
    return fail(env, "FLOAT_ENVIRONMENT_CHANGED", "loading it changed the floating-point control register");
  }
  auto entry = reinterpret_cast<Entry>(dlsym(library, symbol));
  if (entry == nullptr) {
    dlclose(library);
    return fail(env, "SYMBOL_NOT_FOUND", symbol);
  }
  size_t id = 0;
  if (!store(entry, &id)) return fail(env, "OUT_OF_MEMORY", "the table of loaded functions is full");
  return fromDouble(env, static_cast<double>(id));
}

// ---- calls

// One bound function. The arrays for one call lie behind it: its JavaScript thread calls it, one call at a time.
struct Bound {
  Entry entry;
  const double *table;
  size_t buffers;
  size_t sizes;

  char **bufferArray() { return reinterpret_cast<char **>(this + 1); }
  long *sizeArray() { return reinterpret_cast<long *>(bufferArray() + buffers); }
};

napi_value callBound(napi_env env, napi_callback_info info) {
  void *data = nullptr;
  napi_get_cb_info(env, info, nullptr, nullptr, nullptr, &data);
  auto *bound = static_cast<Bound *>(data);
  char **buffers = bound->bufferArray();
  long *sizes = bound->sizeArray();
  const double *table = bound->table;
  for (size_t i = 0; i < bound->buffers; i++) buffers[i] = pointer<char>(table[i]);
  for (size_t i = 0; i < bound->sizes; i++) sizes[i] = static_cast<long>(table[bound->buffers + i]);
  const int status = bound->entry(buffers, sizes, &runtime);
  napi_value result = nullptr;
  napi_create_int32(env, status, &result);
  return result;
}

void finalizeBound(napi_env, void *data, void *) { std::free(data); }

// bind(id, table, buffers, sizes): a function without arguments that returns the entry's status, and has the table.
napi_value bind(napi_env env, napi_callback_info info) {
  Arguments arguments(env, info);
  const auto id = static_cast<size_t>(toDouble(env, arguments.values[0]));
  const auto buffers = static_cast<size_t>(toDouble(env, arguments.values[2]));
  const auto sizes = static_cast<size_t>(toDouble(env, arguments.values[3]));
  auto *bound = static_cast<Bound *>(std::malloc(sizeof(Bound) + (buffers + sizes) * sizeof(long)));
  if (bound == nullptr) return fail(env, "OUT_OF_MEMORY", "the system has no memory left");
  const Entry entry = entryPages[id / entriesPerPage][id % entriesPerPage];
  *bound = Bound{entry, static_cast<const double *>(dataOf(env, arguments.values[1])), buffers, sizes};
  napi_value function = nullptr;
  napi_create_function(env, "compiled", NAPI_AUTO_LENGTH, callBound, bound, &function);
  napi_set_named_property(env, function, "table", arguments.values[1]);
  napi_add_finalizer(env, function, bound, finalizeBound, nullptr, nullptr);
  return function;
}

// A call on one of libuv's threads, with its own copy of the table's values.
struct Pending {
  Entry entry;
  int status;
  napi_deferred deferred;
  napi_async_work work;
  size_t buffers;

  char **bufferArray() { return reinterpret_cast<char **>(this + 1); }
  long *sizeArray() { return reinterpret_cast<long *>(bufferArray() + buffers); }
};

void runPending(napi_env, void *data) {
  auto *pending = static_cast<Pending *>(data);
  pending->status = pending->entry(pending->bufferArray(), pending->sizeArray(), &runtime);
}

void finishPending(napi_env env, napi_status, void *data) {
  auto *pending = static_cast<Pending *>(data);
  napi_value status = nullptr;
  napi_create_int32(env, pending->status, &status);
  napi_resolve_deferred(env, pending->deferred, status);
  napi_delete_async_work(env, pending->work);
  std::free(pending);
}

// callAsync(id, table, buffers, sizes): Promise of the status.
napi_value callAsync(napi_env env, napi_callback_info info) {
  Arguments arguments(env, info);
  const auto id = static_cast<size_t>(toDouble(env, arguments.values[0]));
  const auto *table = static_cast<const double *>(dataOf(env, arguments.values[1]));
  const auto buffers = static_cast<size_t>(toDouble(env, arguments.values[2]));
  const auto sizes = static_cast<size_t>(toDouble(env, arguments.values[3]));
  auto *pending = static_cast<Pending *>(std::malloc(sizeof(Pending) + (buffers + sizes) * sizeof(long)));
  if (pending == nullptr) return fail(env, "OUT_OF_MEMORY", "the system has no memory left");
  *pending = Pending{entryPages[id / entriesPerPage][id % entriesPerPage], 0, nullptr, nullptr, buffers};
  for (size_t i = 0; i < buffers; i++) pending->bufferArray()[i] = pointer<char>(table[i]);
  for (size_t i = 0; i < sizes; i++) pending->sizeArray()[i] = static_cast<long>(table[buffers + i]);
  napi_value promise = nullptr, name = nullptr;
  napi_create_promise(env, &pending->deferred, &promise);
  napi_create_string_utf8(env, "tsinductor", NAPI_AUTO_LENGTH, &name);
  napi_create_async_work(env, nullptr, name, runPending, finishPending, pending, &pending->work);
  napi_queue_async_work(env, pending->work);
  return promise;
}

// loop(program): the status of the call that failed, or 0; see loop.h.
napi_value runLoop(napi_env env, napi_callback_info info) {
  Arguments arguments(env, info);
  auto *program = static_cast<double *>(dataOf(env, arguments.values[0]));
  int status = 0;
  if (!loops::run(program, [](size_t id) { return entryPages[id / entriesPerPage][id % entriesPerPage]; }, &runtime, &status))
    return fail(env, "OUT_OF_MEMORY", "the system has no memory left");
  napi_value result = nullptr;
  napi_create_int32(env, status, &result);
  return result;
}

// ---- threads and probes

napi_value setThreads(napi_env env, napi_callback_info info) {
  Arguments arguments(env, info);
  pool::setThreads(static_cast<int>(toDouble(env, arguments.values[0])));
  runtime.threads = pool::wanted.load();
  return fromDouble(env, static_cast<double>(runtime.threads));
}

napi_value readMxcsr(napi_env env, napi_callback_info) {
  return fromDouble(env, static_cast<double>(readFloatEnvironment()));
}

// resetMxcsr(): whether the register was not as JavaScript relies on it, which it is afterwards.
napi_value resetMxcsr(napi_env env, napi_callback_info) {
  const uint32_t before = readFloatEnvironment();
  resetFloatEnvironment();
  napi_value result = nullptr;
  napi_get_boolean(env, readFloatEnvironment() != before, &result);
  return result;
}

}  // namespace

// Under Node-API's experimental version finalizers run inside the collection. A Node that has no such finalizers queues
// them, as those of any other version.
extern "C" __attribute__((visibility("default"))) int32_t node_api_module_get_api_version_v1() {
#ifdef TSINDUCTOR_QUEUED_FINALIZERS
  return 8;
#else
  return NAPI_VERSION_EXPERIMENTAL;
#endif
}

extern "C" __attribute__((visibility("default"))) napi_value napi_register_module_v1(napi_env env, napi_value exports) {
  const struct {
    const char *name;
    napi_callback function;
  } functions[] = {
      {"allocate", allocate}, {"release", release}, {"addressOf", addressOf}, {"preferHugePages", preferHugePages},
      {"load", load},         {"bind", bind},       {"callAsync", callAsync}, {"loop", runLoop}, {"setThreads", setThreads},
      {"readMxcsr", readMxcsr}, {"resetMxcsr", resetMxcsr}, {"openWatches", openWatches}, {"watch", watch}, {"takeFound", takeFound},
  };
  for (const auto &entry : functions) {
    napi_value function = nullptr;
    napi_create_function(env, entry.name, NAPI_AUTO_LENGTH, entry.function, nullptr, &function);
    napi_set_named_property(env, exports, entry.name, function);
  }
  return exports;
}
