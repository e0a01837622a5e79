// What generated code and the bridge agree on (version 1). A compiled graph exports one function of type `Entry`.
//
// In: `buffers` are addresses of inputs, outputs, the constants' block and the workspace, in this order; `sizes` are the
// values of the program's symbolic sizes; `runtime` stays valid for the length of the call.
// Out: 0, or 1 + the index of the check site that failed. An entry keeps no pointer after it has returned.
#pragma once

struct Runtime {
  // Calls `body(context, begin, end)` over chunks that cover [0, total) exactly once and do not overlap. Every begin is
  // a multiple of `grain`. Chunks run on several threads, or all on the caller's: nested calls, calls while another
  // JavaScript thread computes, and totals up to `grain` are one chunk. So a result must not depend on the boundaries.
  // The caller takes chunks from the first one on, leaving out none but those that others have taken: so a chunk may wait
  // for all that begin before it.
  void (*parallel)(void (*body)(void *context, long begin, long end), void *context, long total, long grain);
  // Threads that `parallel` may use, the caller's included.
  long threads;
};

using Entry = int (*)(char *const *buffers, const long *sizes, const Runtime *runtime);
