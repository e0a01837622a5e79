// The contender's side of the protocol for contenders in C++: reads one flat JSON request per line, prepares one workload,
// times it, and hands out samples of its outputs. Also the inputs that every language generates alike, and buffers on
// huge pages, as anybody who cares allocates them.
#pragma once
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

namespace bench {

inline double nowMs() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/** The text behind `"key":`, or an empty string. */
inline const char *valueOf(const std::string &line, const char *key) {
  const std::string quoted = "\"" + std::string(key) + "\":";
  const size_t at = line.find(quoted);
  return at == std::string::npos ? "" : line.c_str() + at + quoted.size();
}

inline double number(const std::string &line, const char *key, double otherwise = 0) {
  const char *text = valueOf(line, key);
  return *text == 0 ? otherwise : std::strtod(text, nullptr);
}

inline std::string word(const std::string &line, const char *key) {
  const char *text = valueOf(line, key);
  if (*text != '"') return "";
  const char *end = std::strchr(text + 1, '"');
  return end == nullptr ? "" : std::string(text + 1, end);
}

inline std::vector<double> numbers(const std::string &line, const char *key) {
  std::vector<double> values;
  const char *text = valueOf(line, key);
  if (*text != '[') return values;
  for (text += 1; *text != ']' && *text != 0;) {
    char *end = nullptr;
    const double value = std::strtod(text, &end);
    if (end == text) break;
    values.push_back(value);
    text = *end == ',' ? end + 1 : end;
  }
  return values;
}

/** Floats on 2 MiB pages where there are enough of them, 64-byte aligned in any case. Lives as long as the process. */
inline float *allocate(size_t count) {
  const size_t bytes = (count * sizeof(float) + 63) / 64 * 64;
  const size_t huge = size_t(1) << 21;
  const size_t size = bytes < huge ? bytes : (bytes + huge - 1) / huge * huge;
  void *memory = std::aligned_alloc(bytes < huge ? 64 : huge, size);
  if (memory == nullptr) std::abort();
  if (bytes >= huge) madvise(memory, size, MADV_HUGEPAGE);
  std::memset(memory, 0, size);
  return static_cast<float *>(memory);
}

/** As many elements of another type. */
template <class Element>
Element *allocate(size_t count) {
  return reinterpret_cast<Element *>(allocate((count * sizeof(Element) + sizeof(float) - 1) / sizeof(float)));
}

/** Element `index` of an input: the same hash in every language. */
inline float element(uint32_t index, uint32_t seed, double low, double high) {
  uint32_t h = index + seed * 0x9e3779b9u;
  h = (h ^ (h >> 16)) * 0x85ebca6bu;
  h = (h ^ (h >> 13)) * 0xc2b2ae35u;
  h ^= h >> 16;
  return static_cast<float>(low + (high - low) * (h / 4294967296.0));
}

struct Request {
  std::string op;
  std::string line;
  std::vector<float *> inputs;
  int threads;
  long param(const char *key) const { return static_cast<long>(number(line, key)); }
};

/** The elements of an array of any type, as numbers. */
struct Output {
  std::function<double(long)> element;
  template <class Element>
  Output(const Element *values) : element([values](long i) { return static_cast<double>(values[i]); }) {}
};

struct Runnable {
  std::function<void()> run;
  std::vector<Output> outputs;
};

inline Request readRequest(const std::string &line) {
  Request request{word(line, "op"), line, {}, static_cast<int>(number(line, "threads", 1))};
  const auto sizes = numbers(line, "sizes"), seeds = numbers(line, "seeds");
  const auto lows = numbers(line, "lows"), highs = numbers(line, "highs");
  for (size_t i = 0; i < sizes.size(); i += 1) {
    const long size = static_cast<long>(sizes[i]);
    float *values = allocate(size);
    for (long k = 0; k < size; k += 1) values[k] = element(k, static_cast<uint32_t>(seeds[i]), lows[i], highs[i]);
    request.inputs.push_back(values);
  }
  return request;
}

/** Repeats of a batch that takes half a millisecond, or one call, until the budget is spent. */
inline void answerTimes(const Runnable &runnable, double budgetMs) {
  const double begin = nowMs();
  runnable.run();
  const double once = std::max(1e-6, nowMs() - begin);
  const auto batchOf = [](double ms) { return std::clamp(static_cast<long>(std::ceil(0.5 / ms)), 1L, 1000000L); };
  long calls = batchOf(once);
  const auto measure = [&] {
    const double start = nowMs();
    for (long i = 0; i < calls; i += 1) runnable.run();
    return (nowMs() - start) / calls;
  };
  for (const double until = nowMs() + std::min(budgetMs / 4, 50.0); nowMs() < until;) calls = batchOf(measure());
  std::vector<double> times;
  const double until = nowMs() + budgetMs;
  do times.push_back(measure());
  while ((nowMs() < until || times.size() < 3) && times.size() < 2000);
  std::printf("{\"times\":[");
  for (size_t i = 0; i < times.size(); i += 1) std::printf("%s%.9g", i == 0 ? "" : ",", times[i]);
  std::printf("]}\n");
}

inline void answerSample(const Runnable &runnable, const std::string &line) {
  const Output &output = runnable.outputs[static_cast<size_t>(number(line, "output"))];
  std::printf("{\"values\":[");
  bool first = true;
  for (const double index : numbers(line, "indices")) {
    std::printf("%s%.9g", first ? "" : ",", output.element(static_cast<long>(index)));
    first = false;
  }
  std::printf("]}\n");
}

/** Answers requests until stdin ends. `prepare` gives a runnable without outputs where there is no such operation. */
inline void serve(const char *version, Runnable (*prepare)(const Request &)) {
  Runnable runnable;
  for (std::string line; std::getline(std::cin, line);) {
    const std::string what = word(line, "do");
    if (what == "prepare") {
      runnable = prepare(readRequest(line));
      if (runnable.outputs.empty()) {
        std::printf("{\"unsupported\":\"has no such operation\"}\n");
      } else {
        runnable.run();
        std::printf("{\"version\":\"%s\"}\n", version);
      }
    } else if (runnable.outputs.empty()) {
      std::printf("{\"error\":\"nothing is prepared\"}\n");
    } else if (what == "time") {
      answerTimes(runnable, number(line, "budgetMs", 100));
    } else {
      answerSample(runnable, line);
    }
    std::fflush(stdout);
  }
}

}  // namespace bench
