// C++ that finds the elements of a row which are wanted by a sample of it: the sample says between which words they are likely to lie, and
// only what lies there is looked at further. Where it was wrong, the caller does without.
import type { Definition } from '@tsinductor/codegen';
import { sortItems } from './sort-items.ts';
import { rowPieces } from './sort-row.ts';
import { sortSizes } from '../sort-sizes.ts';

const { leastSampled, samples } = sortSizes;

/** A place of the sample is off by this at most, three times its standard deviation, where all places are alike. */
const margin = 34;

export const likelyItems: Definition = {
  name: 'likely_items',
  text: `/** Puts a sample of a chunk of a row at \`sample\`. */
template <class Item, class Order>
static void take_sample(const sort_row<Order> &row, i64 begin, i64 end, Item *sample) {
  const i64 step = (end - begin) / ${String(samples)};
  for (i64 j = 0; j < ${String(samples)}; ++j) sample[j] = row.template item_at<Item>(begin + j * step);
}

/** The word at a place of the order of a sample, whose first elements are before it then. */
template <class Item, class Order>
static typename Order::word sampled_word(const sort_row<Order> &row, Item *sample, i64 count, i64 place) {
  select_items(sample, count, place + 1);
  Item last = sample[0];
  for (i64 j = 1; j <= place; ++j) last = sample[j] > last ? sample[j] : last;
  return (typename Order::word)(last >> row.index_bits) + row.least;
}

/** Adds what of \`length\` elements, at most 64, has a word in [low, low + span); returns how many that are. No branch depends on them. */
template <class Item, class Order>
static inline __attribute__((always_inline)) i64 add_between(
    const sort_row<Order> &row, i64 k, i64 length, typename Order::word low, typename Order::word span, Item *items) {
  typename Order::word words[64];
  word32 lanes[65];
  for (i64 lane = 0; lane < length; ++lane) words[lane] = row.at(k + lane) - low;
  i64 count = 0;
  for (i64 lane = 0; lane < length; ++lane) {
    lanes[count] = (word32)lane;
    count += words[lane] < span;
  }
  for (i64 j = 0; j < count; ++j) items[j] = row.template item_at<Item>(k + lanes[j]);
  return count;
}

/** How many of so many elements, at most 64, have words below one. */
template <class Order>
static inline __attribute__((always_inline)) i64 count_below(
    const sort_row<Order> &row, i64 k, i64 length, typename Order::word low) {
  typename Order::word count = 0;
  for (i64 lane = 0; lane < length; ++lane) count += row.at(k + lane) < low;
  return count;
}

/** The first elements of a chunk where many of them are wanted; -1 where few are, or the sample is wrong. */
template <class Item, class Order>
static i64 find_likely(const sort_row<Order> &row, i64 begin, i64 end, Item *found, i64 capacity) {
  const i64 block = 64, wanted = row.kept, length = end - begin;
  const i64 place = wanted * ${String(samples)} / length;
  if (length < ${String(leastSampled)} || place < 16 || capacity < ${String(samples)}) return -1;
  const i64 likely = place + place / 4 + 8;
  if (likely >= ${String(samples)}) return -1;
  take_sample(row, begin, end, found);
  typename Order::word limit = sampled_word(row, found, ${String(samples)}, likely);
  i64 count = 0, k = begin;
  while (k < end) {
    if (count + block > capacity) {
      limit = sampled_word(row, found, count, wanted - 1);
      count = wanted;
    }
    // Loops over a whole block have a length that is known, so that they are vectors.
    for (; k + block <= end && count + block <= capacity; k += block)
      count += add_between(row, k, block, 0, limit, found + count);
    if (k + block <= end) continue;
    for (; k < end && count < capacity; ++k) count += add_between(row, k, 1, 0, limit, found + count);
  }
  if (count < wanted) return -1;
  select_items(found, count, wanted);
  return wanted;
}

/** Elements about a place of the order of a row: how many are below them, and how many they are. */
template <class Item, class Order>
static void find_about(const sort_row<Order> &row, i64 place, Item *items, i64 &below, i64 &count) {
  typedef typename Order::word word;
  const i64 block = 64, middle = place * ${String(samples)} / row.length;
  const i64 first = middle - ${String(margin)}, last = middle + ${String(margin)};
  Item *const sample = items;
  take_sample(row, 0, row.length, sample);
  word high = ~(word)0;
  if (last < ${String(samples)}) high = sampled_word(row, sample, ${String(samples)}, last);
  const word low = first < 0 ? 0 : sampled_word(row, sample, last < ${String(samples)} ? last + 1 : ${String(samples)}, first);
  below = count = 0;
  const word span = (word)(high - low + 1);
  i64 k = 0;
  // Loops over a whole block have a length that is known, so that they are vectors.
  for (; k + block <= row.length; k += block) {
    below += count_below(row, k, block, low);
    count += add_between(row, k, block, low, span, items + count);
  }
  below += count_below(row, k, row.length - k, low);
  count += add_between(row, k, row.length - k, low, span, items + count);
}
`,
  needs: [rowPieces, sortItems],
};
