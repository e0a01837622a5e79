// C++ that sorts one row of a tensor, as a sort statement of the Kernel IR says, by three ways to its results. A row of which all is wanted is sorted; a long one is first parted by its highest digit, and the parts,
// which lie in caches, are shared among threads. Of a row of which little is wanted, elements are passed by that lie behind those found so
// far. Those at a few places of the order are found among the elements that share their highest digit.
import type { Definition } from '@tsinductor/codegen';
import { sortItems } from './sort-items.ts';
import { rowPieces, writeItems } from './sort-row.ts';
import { likelyItems } from './sort-samples.ts';
import { sortSizes } from '../sort-sizes.ts';

const {
  leastCounted,
  leastCut,
  leastWide,
  mostChunks,
  mostChunksOfFew,
  shortCounts,
  longCounts,
  fewOf,
  mostShortOfFew,
  moreCandidates,
  leastSampled,
} = sortSizes;

const sortLong: Definition = {
  name: 'sort_long',
  text: `/** Long rows are parted by their highest digit, and each part is sorted by itself. */
template <int digit_bits, class Item, class Order>
static void sort_long(const sort_row<Order> &row, i64 *counts, Item *items, Item *other) {
  const i64 chunks = chunks_of(row, ${String(mostChunks)}), digits = (i64)1 << digit_bits;
  const int shift = row.bits < digit_bits ? 0 : row.bits - digit_bits;
  count_digits<digit_bits>(row, counts, chunks, shift);
  i64 before = 0;
  for (i64 digit = 0; digit < digits; ++digit)
    for (i64 chunk = 0; chunk < chunks; ++chunk) {
      const i64 those = counts[chunk * digits + digit];
      counts[chunk * digits + digit] = before;
      before += those;
    }
  in_chunks(row.runtime, chunks, [&](i64 chunk) {
    i64 *const starts = counts + chunk * digits;
    const i64 end = begin_of(row.length, chunk + 1, chunks);
    for (i64 k = begin_of(row.length, chunk, chunks); k < end; ++k) {
      const Item item = row.template item_at<Item>(k);
      items[starts[(word32)(item >> (row.index_bits + shift))]++] = item;
    }
  });
  // The last chunk has left behind where each digit ends.
  const i64 *const ends = counts + (chunks - 1) * digits;
  const i64 groups = chunks * 8;
  in_chunks(row.runtime, groups, [&](i64 group) {
    const i64 from = begin_of(row.length, group, groups), to = begin_of(row.length, group + 1, groups);
    for (i64 digit = 0; digit < digits; ++digit) {
      const i64 begin = digit == 0 ? 0 : ends[digit - 1], count = ends[digit] - begin;
      if (begin < from || begin >= to || count == 0 || begin >= row.kept) continue;
      const Item *const sorted = sort_items(items + begin, other + begin, count, row.index_bits, row.index_bits + shift);
      write_items(row, sorted, begin, count);
    }
  });
}

template <class Item, class Order>
static void sort_as(const sort_row<Order> &row, i64 *counts) {
  Item *const items = (Item *)row.scratch, *const other = items + row.length;
  if (row.length >= ${String(leastWide)}) return sort_long<11>(row, counts, items, other);
  if (row.length >= ${String(leastCut)}) return sort_long<8>(row, counts, items, other);
  for (i64 k = 0; k < row.length; ++k) items[k] = row.template item_at<Item>(k);
  write_items(row, sort_items(items, other, row.length, row.index_bits, row.index_bits + row.bits), 0, row.length);
}
`,
  needs: [rowPieces, sortItems, writeItems],
};

const firstItems: Definition = {
  name: 'first_as',
  text: `/** The first few elements of a chunk: whatever is not below the last of those found so far is passed by. */
template <class Item, class Order>
static i64 find_first(const sort_row<Order> &row, i64 begin, i64 end, Item *found, i64 capacity) {
  typedef typename Order::word word;
  const i64 block = 64, wanted = row.kept;
  i64 count = 0, k = begin;
  for (; k < end && count < capacity; ++k) found[count++] = row.template item_at<Item>(k);
  while (true) {
    if (count > wanted) {
      select_items(found, count, wanted);
      count = wanted;
    }
    if (k == end) return count;
    Item last = found[0];
    for (i64 j = 1; j < count; ++j) last = found[j] > last ? found[j] : last;
    const word limit = (word)(last >> row.index_bits) + row.least;
    for (; k + block <= end && count + block <= capacity; k += block) {
      word hits = 0;
      for (i64 lane = 0; lane < block; ++lane) hits |= row.at(k + lane) < limit ? ~(word)0 : 0;
      if (__builtin_expect(hits == 0, 1)) continue;
      for (i64 part = k; part < k + block; part += 16) {
        word some = 0;
        for (i64 lane = 0; lane < 16; ++lane) some |= row.at(part + lane) < limit ? ~(word)0 : 0;
        if (some == 0) continue;
        for (i64 lane = part; lane < part + 16; ++lane)
          if (row.at(lane) < limit) found[count++] = row.template item_at<Item>(lane);
      }
    }
    if (k + block > end)
      for (; k < end && count < capacity; ++k)
        if (row.at(k) < limit) found[count++] = row.template item_at<Item>(k);
  }
}

template <class Item, class Order>
static void first_as(const sort_row<Order> &row) {
  const i64 chunks = chunks_of(row, ${String(mostChunksOfFew)}), capacity = 2 * row.kept + ${String(moreCandidates)};
  Item *const found = (Item *)row.scratch;
  i64 counts[${String(mostChunksOfFew)}];
  in_chunks(row.runtime, chunks, [&](i64 chunk) {
    const i64 begin = begin_of(row.length, chunk, chunks), end = begin_of(row.length, chunk + 1, chunks);
    Item *const own = found + chunk * capacity;
    counts[chunk] = find_likely(row, begin, end, own, capacity);
    if (counts[chunk] < 0) counts[chunk] = find_first(row, begin, end, own, capacity);
  });
  i64 count = counts[0];
  for (i64 chunk = 1; chunk < chunks; ++chunk)
    for (i64 k = 0; k < counts[chunk]; ++k) found[count++] = found[chunk * capacity + k];
  if (count > row.kept) select_items(found, count, row.kept);
  Item apart = 0;
  for (i64 k = 0; k < row.kept; ++k) apart |= found[k] ^ found[0];
  write_items(row, sort_items(found, found + capacity, row.kept, 0, width_of(apart)), 0, row.kept);
}
`,
  needs: [rowPieces, sortItems, writeItems, likelyItems],
};

const rankedItems: Definition = {
  name: 'ranked_as',
  text: `template <class Order>
static inline void write_result(const sort_row<Order> &row, i64 k, i64 index) {
  if (row.indices != 0) row.indices[k * row.indices_step] = index;
  if (row.values != 0) row.values[k * row.values_step] = row.keys[index];
}

template <class Order>
static inline i64 place_at(const sort_row<Order> &row, i64 k) {
  const i64 place = row.places[k * row.places_step];
  return place < 0 ? 0 : place >= row.length ? row.length - 1 : place;
}

/** The result at a place of items of which so many are before that of a row: the wanted first one of them. */
template <class Item, class Order>
static inline void write_ranked(const sort_row<Order> &row, i64 k, Item *items, i64 count, i64 wanted) {
  select_items(items, count, wanted);
  Item last = items[0];
  for (i64 j = 1; j < wanted; ++j) last = items[j] > last ? items[j] : last;
  write_result(row, k, row.index_in(last));
}

/** All elements in order, of which those at the places are taken. */
template <class Item, class Order>
static void rank_all(const sort_row<Order> &row) {
  Item *const items = (Item *)row.scratch, *const other = items + row.length;
  for (i64 k = 0; k < row.length; ++k) items[k] = row.template item_at<Item>(k);
  const Item *const sorted = sort_items(items, other, row.length, row.index_bits, row.index_bits + row.bits);
  for (i64 k = 0; k < row.kept; ++k) write_result(row, k, row.index_in(sorted[place_at(row, k)]));
}

/** The elements that share the highest digit of one at a place are gathered, in order, and that one is found among them. */
template <int digit_bits, class Item, class Order>
static void rank_few(const sort_row<Order> &row, i64 *counts) {
  Item *const items = (Item *)row.scratch;
  const i64 chunks = chunks_of(row, ${String(mostChunks)}), digits = (i64)1 << digit_bits;
  const int shift = row.bits < digit_bits ? 0 : row.bits - digit_bits;
  count_digits<digit_bits>(row, counts, chunks, shift);
  i64 listed = -1, below = 0, count = 0;
  for (i64 k = 0; k < row.kept; ++k) {
    const i64 place = place_at(row, k);
    if (listed < 0 || place < below || place >= below + count) {
      below = 0;
      for (listed = 0;; below += count, ++listed) {
        count = 0;
        for (i64 chunk = 0; chunk < chunks; ++chunk) count += counts[chunk * digits + listed];
        if (place < below + count) break;
      }
      in_chunks(row.runtime, chunks, [&](i64 chunk) {
        Item *into = items;
        for (i64 before = 0; before < chunk; ++before) into += counts[before * digits + listed];
        i64 left = counts[chunk * digits + listed];
        for (i64 j = begin_of(row.length, chunk, chunks); left > 0; ++j) {
          const Item item = row.template item_at<Item>(j);
          const bool isIts = (i64)(item >> (row.index_bits + shift)) == listed;
          *into = item;
          into += isIts;
          left -= isIts;
        }
      });
    }
    write_ranked(row, k, items, count, place - below + 1);
  }
}

/** The elements that lie about where a sample says that those at the places do; false where they do not. */
template <class Item, class Order>
static bool rank_likely(const sort_row<Order> &row) {
  if (row.length < ${String(leastSampled)} || row.length >= ${String(leastCut)}) return false;
  Item *const items = (Item *)row.scratch;
  i64 below = 0, count = 0;
  for (i64 k = 0; k < row.kept; ++k) {
    const i64 place = place_at(row, k);
    if (place < below || place >= below + count) {
      find_about(row, place, items, below, count);
      if (place < below || place >= below + count) return false;
    }
    write_ranked(row, k, items, count, place - below + 1);
  }
  return true;
}

template <class Item, class Order>
static void ranked_as(const sort_row<Order> &row, i64 *counts) {
  if (row.length < ${String(leastCounted)} || row.kept > 8) rank_all<Item>(row);
  else if (rank_likely<Item>(row)) return;
  else if (row.length < ${String(leastCut)}) rank_few<8, Item>(row, counts);
  else rank_few<11, Item>(row, counts);
}
`,
  needs: [rowPieces, sortItems, likelyItems],
};

export const sortRow: Definition = {
  name: 'sort_row_by',
  text: `/** Elements that are not side by side are brought together. */
template <class Order, bool isLong>
static __attribute__((noinline)) void sort_row_by(sort_row<Order> row) {
  typedef typename Order::element element;
  if (row.length == 0 || row.kept == 0) return;
  if (row.step != 1) {
    element *const together = (element *)row.scratch;
    for (i64 k = 0; k < row.length; ++k) together[k] = row.keys[k * row.step];
    row.keys = together;
    row.scratch += (row.length * sizeof(element) + 7) / 8;
    row.step = 1;
  }
  const bool isWide = sizeof(element) == 8 || isLong;
  row.index_bits = width_of((word64)(row.length - 1));
  if (row.places == 0 && row.kept <= row.length / ${String(fewOf)} && row.length > ${String(mostShortOfFew)}) {
    row.least = 0;
    row.bits = 8 * sizeof(typename Order::word);
    if (row.bits + row.index_bits <= 64) return first_as<word64>(row);
    if constexpr (isWide) return first_as<word128>(row);
  }
  find_range(row);
  i64 *const counts = row.scratch;
  row.scratch += row.length < ${String(leastCounted)} ? 0 : row.length < ${String(leastCut)} ? ${String(shortCounts)} : chunks_of(row, ${String(mostChunks)}) * ${String(longCounts)};
  if (row.bits + row.index_bits <= 64) {
    if (row.places == 0) return sort_as<word64>(row, counts);
    return ranked_as<word64>(row, counts);
  }
  if constexpr (isWide) {
    row.scratch += (word64)row.scratch % 16 / 8;
    if (row.places == 0) return sort_as<word128>(row, counts);
    return ranked_as<word128>(row, counts);
  }
}
`,
  needs: [sortLong, firstItems, rankedItems],
};
