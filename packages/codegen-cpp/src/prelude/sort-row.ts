// C++ of a row that is sorted: what is known of it, how it is cut in chunks for threads, the range and the highest digits of its elements,
// and how sorted items become results.
import type { Definition } from '@tsinductor/codegen';
import { sortWords, widthOf } from './sort-items.ts';
import { sortSizes } from '../sort-sizes.ts';
import { runtimeDefinition } from './special-functions.ts';
import { elementDefinition } from './vector-types.ts';

const { leastCut, mostChunks } = sortSizes;

/** A row, where its results go, and what is found out about it: the least order of an element, and how many bits the others need. */
const rowDefinition: Definition = {
  name: 'sort_row',
  text: `template <class Order>
struct sort_row {
  typedef typename Order::element element;
  typedef typename Order::word word;
  const element *keys;
  i64 step, length, kept;
  const i64 *places;
  i64 places_step;
  element *values;
  i64 values_step;
  i64 *indices;
  i64 indices_step;
  i64 *scratch;
  const Runtime *runtime;
  word flip;
  int index_bits;
  word least;
  int bits;

  inline word at(i64 k) const { return Order::word_of(keys[k]) ^ flip; }
  template <class Item> inline Item item_at(i64 k) const { return (Item)(word)(at(k) - least) << index_bits | (Item)k; }
  template <class Item> inline i64 index_in(Item item) const { return (i64)((word64)item & (((word64)1 << index_bits) - 1)); }
};
`,
  needs: [elementDefinition('i64'), runtimeDefinition, sortWords],
};

const inChunks: Definition = {
  name: 'in_chunks',
  text: `template <class Body>
static inline void in_chunks(const Runtime *runtime, i64 chunks, const Body &body) {
  if (runtime == 0 || chunks <= 1 || runtime->threads <= 1) {
    for (i64 chunk = 0; chunk < chunks; ++chunk) body(chunk);
    return;
  }
  runtime->parallel(
      [](void *context, long begin, long end) {
        for (; begin < end; ++begin) (*(const Body *)context)(begin);
      },
      (void *)&body, chunks, 1);
}
`,
  needs: [elementDefinition('i64'), runtimeDefinition],
};

export const writeItems: Definition = {
  name: 'write_items',
  text: `/** Writes the sorted items as the results from first on. */
template <class Order, class Item>
static void write_items(const sort_row<Order> &row, const Item *items, i64 first, i64 count) {
  typedef typename Order::word word;
  if (first + count > row.kept) count = row.kept - first;
  if (row.indices != 0)
    for (i64 k = 0; k < count; ++k) row.indices[(first + k) * row.indices_step] = row.index_in(items[k]);
  if (row.values != 0)
    for (i64 k = 0; k < count; ++k) {
      const word own = ((word)(items[k] >> row.index_bits) + row.least) ^ row.flip;
      row.values[(first + k) * row.values_step] =
          __builtin_expect(Order::is_shared(own), 0) ? row.keys[row.index_in(items[k])] : Order::element_of(own);
    }
}
`,
  needs: [rowDefinition],
};

export const rowPieces: Definition = {
  name: 'chunks_of',
  text: `/** How many chunks a row is cut in, and where they begin. */
template <class Order>
static inline i64 chunks_of(const sort_row<Order> &row, i64 most) {
  if (row.runtime == 0 || row.length < ${String(leastCut)}) return 1;
  return row.runtime->threads < most ? row.runtime->threads : most;
}
static inline i64 begin_of(i64 length, i64 chunk, i64 chunks) { return length / chunks * chunk + length % chunks * chunk / chunks; }

template <class Order>
static void find_range(sort_row<Order> &row) {
  typedef typename Order::word word;
  const i64 chunks = chunks_of(row, ${String(mostChunks)});
  word least[${String(mostChunks)}], most[${String(mostChunks)}];
  in_chunks(row.runtime, chunks, [&](i64 chunk) {
    i64 k = begin_of(row.length, chunk, chunks);
    const i64 end = begin_of(row.length, chunk + 1, chunks);
    const i64 lanes = 64 / sizeof(word) * 2;
    word low[lanes], high[lanes];
    const word first = row.at(k);
    for (i64 lane = 0; lane < lanes; ++lane) low[lane] = high[lane] = first;
    for (; k + lanes <= end; k += lanes)
      for (i64 lane = 0; lane < lanes; ++lane) {
        const word own = row.at(k + lane);
        low[lane] = own < low[lane] ? own : low[lane];
        high[lane] = own > high[lane] ? own : high[lane];
      }
    for (; k < end; ++k) {
      const word own = row.at(k);
      low[0] = own < low[0] ? own : low[0];
      high[0] = own > high[0] ? own : high[0];
    }
    for (i64 lane = 1; lane < lanes; ++lane) {
      low[0] = low[lane] < low[0] ? low[lane] : low[0];
      high[0] = high[lane] > high[0] ? high[lane] : high[0];
    }
    least[chunk] = low[0];
    most[chunk] = high[0];
  });
  for (i64 chunk = 1; chunk < chunks; ++chunk) {
    least[0] = least[chunk] < least[0] ? least[chunk] : least[0];
    most[0] = most[chunk] > most[0] ? most[chunk] : most[0];
  }
  row.least = least[0];
  row.bits = width_of((word64)(most[0] - least[0]));
}

/** Counts the highest digits of each chunk of a row: counts[chunk * digits + digit]. */
template <int digit_bits, class Order>
static void count_digits(const sort_row<Order> &row, i64 *counts, i64 chunks, int shift) {
  const i64 digits = (i64)1 << digit_bits;
  in_chunks(row.runtime, chunks, [&](i64 chunk) {
    word32 even[digits] = {}, odd[digits] = {};
    i64 k = begin_of(row.length, chunk, chunks);
    const i64 end = begin_of(row.length, chunk + 1, chunks);
    for (; k + 2 <= end; k += 2) {
      ++even[(row.at(k) - row.least) >> shift];
      ++odd[(row.at(k + 1) - row.least) >> shift];
    }
    if (k < end) ++even[(row.at(k) - row.least) >> shift];
    for (i64 digit = 0; digit < digits; ++digit) counts[chunk * digits + digit] = (i64)even[digit] + odd[digit];
  });
}
`,
  needs: [rowDefinition, inChunks, widthOf],
};
