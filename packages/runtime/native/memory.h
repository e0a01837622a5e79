// Aligned memory behind external ArrayBuffers.
//
// Blocks are 64-byte aligned. From 4 MB up they are mapped at 2 MB boundaries with huge pages asked for, which makes
// the first touch of a page several times cheaper. A block is released once: explicitly (its ArrayBuffer is detached
// first, so that no view can reach it), or by the ArrayBuffer's finalizer. The record outlives an explicit release,
// because the finalizer still comes. For memory that is not ours, huge pages can be asked for where it lies.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <sys/mman.h>

namespace memory {

constexpr size_t alignment = 64;
constexpr size_t hugeFrom = size_t{4} << 20;
constexpr size_t hugePage = size_t{2} << 20;

struct Block {
  void *address;
  size_t bytes;
  bool mapped;
  bool released;
};

inline size_t roundUp(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

// Maps `bytes` (a multiple of the huge page) at a huge page's boundary, or returns null.
inline void *mapHuge(size_t bytes) {
  void *mapped = mmap(nullptr, bytes + hugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  char *start = static_cast<char *>(mapped);
  char *aligned = reinterpret_cast<char *>(roundUp(reinterpret_cast<size_t>(start), hugePage));
  if (aligned != start) munmap(start, static_cast<size_t>(aligned - start));
  const size_t rest = static_cast<size_t>(start + hugePage - aligned);
  if (rest != 0) munmap(aligned + bytes, rest);
  madvise(aligned, bytes, MADV_HUGEPAGE);
  return aligned;
}

// Asks for huge pages in what they fill of a range as large as those that are mapped. They come with the first touch: what was touched stays as it is.
inline void preferHugePages(void *start, size_t bytes) {
  if (bytes < hugeFrom) return;
  const size_t begin = roundUp(reinterpret_cast<size_t>(start), hugePage);
  const size_t end = (reinterpret_cast<size_t>(start) + bytes) / hugePage * hugePage;
  if (begin < end) madvise(reinterpret_cast<void *>(begin), end - begin, MADV_HUGEPAGE);
}

inline Block *allocate(size_t bytes) {
  const bool mapped = bytes >= hugeFrom;
  const size_t rounded = roundUp(bytes == 0 ? 1 : bytes, mapped ? hugePage : alignment);
  void *address = nullptr;
  if (mapped) {
    address = mapHuge(rounded);
  } else if (posix_memalign(&address, alignment, rounded) != 0) {
    address = nullptr;
  }
  if (address == nullptr) return nullptr;
  auto *block = static_cast<Block *>(std::malloc(sizeof(Block)));
  if (block == nullptr) return nullptr;
  *block = Block{address, rounded, mapped, false};
  return block;
}

// Gives the memory back, once; the record stays.
inline void release(Block *block) {
  if (block->released) return;
  block->released = true;
  if (block->mapped) munmap(block->address, block->bytes);
  else std::free(block->address);
}

}  // namespace memory
