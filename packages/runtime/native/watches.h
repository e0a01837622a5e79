// Which objects of the JavaScript heap the collector found unreachable, known within the collection itself.
//
// A finalizer of an ordinary addon is queued for the event loop, so a loop that never returns to it sees none of them. A
// basic finalizer runs inside the collection; it may not touch the JavaScript heap, and this one only writes a number down.
// JavaScript sees how many there are in a typed array, without a call, and fetches them when it wants to: nothing that
// belonged to an object is reused or given back while the collector is at work.
//
// One list per JavaScript thread. It outlives its environment for as long as finalizers are still to come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <node_api.h>

namespace watches {

struct List {
  double *count;      // how many ids wait, where JavaScript looks; null once the environment ends
  napi_ref keepCount;
  double *ids;
  size_t length;
  size_t capacity;
  size_t expected;  // finalizers that have not run
};

inline void destroyIfDone(List *list) {
  if (list->count != nullptr || list->expected > 0) return;
  std::free(list->ids);
  std::free(list);
}

// Without memory for it an id is lost: what belongs to it then stays in use, which is safe.
inline void append(List *list, double id) {
  if (list->length == list->capacity) {
    const size_t capacity = list->capacity == 0 ? 256 : 2 * list->capacity;
    auto *grown = static_cast<double *>(std::realloc(list->ids, capacity * sizeof(double)));
    if (grown == nullptr) return;
    list->ids = grown;
    list->capacity = capacity;
  }
  list->ids[list->length++] = id;
  *list->count = static_cast<double>(list->length);
}

// A basic finalizer: `data` is the id.
inline void found(napi_env, void *data, void *hint) {
  auto *list = static_cast<List *>(hint);
  list->expected--;
  if (list->count != nullptr) append(list, static_cast<double>(reinterpret_cast<intptr_t>(data)));
  destroyIfDone(list);
}

inline void close(napi_env, void *data, void *) {
  auto *list = static_cast<List *>(data);
  list->count = nullptr;
  destroyIfDone(list);
}

// The list of an environment, with `count` (its first element, kept alive by `countArray`) as what JavaScript looks at.
inline bool open(napi_env env, napi_value countArray, double *count) {
  auto *list = static_cast<List *>(std::calloc(1, sizeof(List)));
  if (list == nullptr) return false;
  list->count = count;
  napi_create_reference(env, countArray, 1, &list->keepCount);
  return napi_set_instance_data(env, list, close, nullptr) == napi_ok;
}

inline List *of(napi_env env) {
  void *list = nullptr;
  napi_get_instance_data(env, &list);
  return static_cast<List *>(list);
}

inline bool watch(napi_env env, napi_value object, double id) {
  List *list = of(env);
  void *data = reinterpret_cast<void *>(static_cast<intptr_t>(id));
  if (napi_add_finalizer(env, object, data, found, list, nullptr) != napi_ok) return false;
  list->expected++;
  return true;
}

// Moves up to `most` ids to `out`, the ones found last first; returns how many.
inline size_t take(napi_env env, double *out, size_t most) {
  List *list = of(env);
  const size_t taken = list->length < most ? list->length : most;
  list->length -= taken;
  if (taken > 0) std::memcpy(out, list->ids + list->length, taken * sizeof(double));
  *list->count = static_cast<double>(list->length);
  return taken;
}

}  // namespace watches
