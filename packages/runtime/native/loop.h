// Loops over compiled graphs, without a return to JavaScript between their steps. In: a program of doubles, which JavaScript wrote and
// checked. Out: how many steps were done, and the status of the call that failed, if one did.
//
// The program:
//   [0] steps; negative: while the condition holds. Afterwards: the steps that were done.
//   [1] address of the condition's byte; 0: there is none, and call 0 is the body. Afterwards: which call failed.
//   [2] calls, [3] alternating slots, [4] advancing slots, [5] copies; then, in this order,
//   for each call: its entry, the address of its table, how many buffers and how many sizes stand there;
//   for each alternating slot: call, slot, the address in step 0, in later even steps, in odd steps;
//   for each advancing slot: call, slot, bytes from one step to the next, which may be negative;
//   for each copy after a step: from, to, bytes from one step to the next of `to`, bytes.
#pragma once

#include <cstdlib>
#include <cstring>

#include "abi.h"

namespace loops {

struct Call {
  Entry entry;
  size_t buffers;
  char **addresses;
  long *sizes;
};

inline char *addressIn(double value) { return reinterpret_cast<char *>(static_cast<size_t>(value)); }

// Whether there was memory for it.
template <typename FindEntry>
bool run(double *program, FindEntry entryOf, const Runtime *runtime, int *status) {
  const double *next = program + 6;
  const auto calls = static_cast<size_t>(program[2]), alternating = static_cast<size_t>(program[3]);
  const auto advancing = static_cast<size_t>(program[4]), copies = static_cast<size_t>(program[5]);
  Call call[2];
  size_t words = 0;
  for (size_t i = 0; i < calls; i++) words += static_cast<size_t>(next[4 * i + 2] + next[4 * i + 3]);
  char *memory = static_cast<char *>(std::malloc((words + 1) * sizeof(long)));
  if (memory == nullptr) return false;
  char *free = memory;
  for (size_t i = 0; i < calls; i++, next += 4) {
    const double *table = reinterpret_cast<const double *>(addressIn(next[1]));
    const auto buffers = static_cast<size_t>(next[2]), sizes = static_cast<size_t>(next[3]);
    call[i] = Call{entryOf(static_cast<size_t>(next[0])), buffers, reinterpret_cast<char **>(free), nullptr};
    free += buffers * sizeof(char *);
    call[i].sizes = reinterpret_cast<long *>(free);
    free += sizes * sizeof(long);
    for (size_t b = 0; b < buffers; b++) call[i].addresses[b] = addressIn(table[b]);
    for (size_t s = 0; s < sizes; s++) call[i].sizes[s] = static_cast<long>(table[buffers + s]);
  }
  const double *alternate = next, *advance = alternate + 5 * alternating, *copy = advance + 3 * advancing;
  const volatile char *condition = addressIn(program[1]);
  const auto invoke = [&](size_t i) { return call[i].entry(call[i].addresses, call[i].sizes, runtime); };
  const size_t body = calls - 1;
  const double steps = program[0];
  double step = 0;
  *status = 0;
  for (; steps < 0 || step < steps; step++) {
    const bool isOdd = static_cast<unsigned long>(step) % 2 == 1;
    for (size_t i = 0; i < alternating; i++) {
      const double *slot = alternate + 5 * i;
      call[static_cast<size_t>(slot[0])].addresses[static_cast<size_t>(slot[1])] =
          addressIn(step == 0 ? slot[2] : isOdd ? slot[4] : slot[3]);
    }
    if (condition != nullptr) {
      *status = invoke(0);
      if (*status != 0) program[1] = 0;
      if (*status != 0 || *condition == 0) break;
    }
    *status = invoke(body);
    if (*status != 0) {
      program[1] = static_cast<double>(body);
      break;
    }
    for (size_t i = 0; i < copies; i++) {
      const double *each = copy + 4 * i;
      std::memcpy(addressIn(each[1]) + static_cast<long>(each[2]) * static_cast<long>(step), addressIn(each[0]),
                  static_cast<size_t>(each[3]));
    }
    for (size_t i = 0; i < advancing; i++) {
      const double *slot = advance + 3 * i;
      call[static_cast<size_t>(slot[0])].addresses[static_cast<size_t>(slot[1])] += static_cast<long>(slot[2]);
    }
  }
  program[0] = step;
  std::free(memory);
  return true;
}

}  // namespace loops
