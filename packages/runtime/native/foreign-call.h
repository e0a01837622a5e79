// Calls into libraries that are loaded by name at run time, and are linked with nothing: a driver that most machines lack.
// Four entries with the C ABI of compiled graphs. What they are told is checked by their JavaScript side.
//
// Only functions whose parameters and result are integers or pointers can be called, at most eleven of them: each goes as
// one machine word, of which the callee reads what its type says. So it is in the C ABIs of x86-64 and AArch64.
#pragma once
#include <cstdio>
#include <dlfcn.h>
#include "abi.h"

#define TSINDUCTOR_ENTRY extern "C" __attribute__((visibility("default"))) int

// buffers: the library's name; eight bytes for its handle; 512 bytes for why there is none. Returns 0, or 1.
TSINDUCTOR_ENTRY tsinductor_foreign_open(char *const *buffers, const long *, const Runtime *) {
  void *handle = dlopen(buffers[0], RTLD_NOW | RTLD_LOCAL);
  *reinterpret_cast<void **>(buffers[1]) = handle;
  if (handle != nullptr) return 0;
  const char *reason = dlerror();
  std::snprintf(buffers[2], 512, "%s", reason == nullptr ? "no reason given" : reason);
  return 1;
}

// buffers: a handle; a function's name; eight bytes for its address. Returns 0, or 1 if the library has none.
TSINDUCTOR_ENTRY tsinductor_foreign_find(char *const *buffers, const long *, const Runtime *) {
  void *address = dlsym(buffers[0], buffers[1]);
  *reinterpret_cast<void **>(buffers[2]) = address;
  return address == nullptr ? 1 : 0;
}

// buffers: a function; sizes: its eleven arguments. Returns what it returns.
TSINDUCTOR_ENTRY tsinductor_foreign_call(char *const *buffers, const long *words, const Runtime *) {
  using Function = int (*)(long, long, long, long, long, long, long, long, long, long, long);
  const auto function = reinterpret_cast<Function>(buffers[0]);
  return function(words[0], words[1], words[2], words[3], words[4], words[5], words[6], words[7], words[8], words[9],
                  words[10]);
}

// buffers: a text of the library's; 512 bytes for a copy. Returns 0.
TSINDUCTOR_ENTRY tsinductor_foreign_text(char *const *buffers, const long *, const Runtime *) {
  std::snprintf(buffers[1], 512, "%s", buffers[0]);
  return 0;
}
