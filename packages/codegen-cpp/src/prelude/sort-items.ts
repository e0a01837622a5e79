// C++ that sorts items: whole numbers whose high bits are the order of an element, and whose low bits are where it was. So no two are
// the same, and their order as numbers is the stable order of the elements.
import type { Definition } from '@tsinductor/codegen';

export const sortWords: Definition = {
  name: 'sort_words',
  text: `typedef unsigned int word32;
typedef unsigned long word64;
typedef unsigned __int128 word128;
`,
  needs: [],
};

/** What an element's order is as an unsigned word: NaN is the largest, 0 and -0 are one; and the element of such a word. */
export const sortOrders: Definition = {
  name: 'sort_orders',
  text: `template <class Element, class Word, Word sign, Word infinity>
struct float_order {
  typedef Element element;
  typedef Word word;
  static inline Word word_of(Element bits) {
    const Word magnitude = bits & (sign - 1);
    const Word number = bits > sign ? sign - magnitude : sign + magnitude;
    return magnitude > infinity ? 2 * sign - 1 : number;
  }
  static inline Element element_of(Word word) { return word < sign ? 2 * sign - word : word - sign; }
  /** Whether several elements have this word. */
  static inline bool is_shared(Word word) { return word == sign || word == (Word)(2 * sign - 1); }
};

template <class Element, class Word, Word offset>
struct integer_order {
  typedef Element element;
  typedef Word word;
  static inline Word word_of(Element x) { return (Word)x + offset; }
  static inline Element element_of(Word word) { return (Element)(word - offset); }
  static inline bool is_shared(Word) { return false; }
};
`,
  needs: [sortWords],
};

/** How many bits a number has. */
export const widthOf: Definition = {
  name: 'width_of',
  text: `static inline int width_of(word64 x) { return x == 0 ? 0 : 64 - __builtin_clzl(x); }
static inline int width_of(word128 x) { return x >> 64 ? 64 + width_of((word64)(x >> 64)) : width_of((word64)x); }
`,
  needs: [sortWords],
};

/**
 * `sort_items` sorts by the bits from `low` to `high`: as many of the highest as tell nearly all items apart, digit by digit from the
 * lowest of them, which keeps the order of equal ones (a radix sort); then each run of items that these do not tell apart by itself. It
 * returns where the items are in the end, of the two places that it is given. `select_items` brings the least ones to the front.
 */
export const sortItems: Definition = {
  name: 'sort_items',
  text: `template <class Item>
static void insertion_sort(Item *items, i64 count) {
  for (i64 k = 1; k < count; ++k) {
    const Item item = items[k];
    i64 place = k;
    for (; place > 0 && items[place - 1] > item; --place) items[place] = items[place - 1];
    items[place] = item;
  }
}

template <class Item>
static __attribute__((noinline)) Item *sort_items(Item *items, Item *other, i64 count, int low, int high) {
  if (count <= 24) {
    insertion_sort(items, count);
    return items;
  }
  const int most = count < 8192 ? 8 : 11, wanted = width_of((word64)count) + 3;
  const int passes = (wanted + most - 1) / most;
  const int taken = high - low < passes * most ? high - low : passes * most;
  const int needed = (taken + most - 1) / most, middle = high - taken;
  word32 starts[2048];
  Item *const home = items;
  for (int pass = 0; pass < needed; ++pass) {
    const int shift = middle + pass * taken / needed, next = middle + (pass + 1) * taken / needed;
    const word32 mask = (1u << (next - shift)) - 1;
    for (word32 digit = 0; digit <= mask; ++digit) starts[digit] = 0;
    for (i64 k = 0; k < count; ++k) ++starts[(word32)(items[k] >> shift) & mask];
    if (starts[(word32)(items[0] >> shift) & mask] == count) continue;
    word32 before = 0;
    for (word32 digit = 0; digit <= mask; ++digit) {
      const word32 those = starts[digit];
      starts[digit] = before;
      before += those;
    }
    for (i64 k = 0; k < count; ++k) {
      const Item item = items[k];
      other[starts[(word32)(item >> shift) & mask]++] = item;
    }
    Item *const sorted = other;
    other = items;
    items = sorted;
  }
  if (middle > low) {
    for (i64 k = 0; k < count;) {
      i64 end = k + 1;
      const Item first = items[k] >> middle;
      while (end < count && items[end] >> middle == first) ++end;
      if (end > k + 1) {
        Item *const run = items + k;
        const Item *const sorted = sort_items(run, other + k, end - k, low, middle);
        if (sorted != run) for (i64 j = 0; j < end - k; ++j) run[j] = sorted[j];
      }
      k = end;
    }
  }
  return items;
}

template <class Item>
static void select_items(Item *items, i64 count, i64 wanted) {
  while (wanted > 0 && wanted < count) {
    if (count <= 24) {
      insertion_sort(items, count);
      return;
    }
    Item least = items[0], most = items[0];
    for (i64 k = 1; k < count; ++k) {
      least = items[k] < least ? items[k] : least;
      most = items[k] > most ? items[k] : most;
    }
    const int bits = width_of((Item)(most - least)), shift = bits > 8 ? bits - 8 : 0;
    word32 counts[256] = {};
    for (i64 k = 0; k < count; ++k) ++counts[(word32)((items[k] - least) >> shift)];
    i64 below = 0;
    word32 digit = 0;
    while (below + counts[digit] < wanted) below += counts[digit++];
    i64 low = 0, high = count;
    for (i64 k = 0; k < high;) {
      const Item item = items[k];
      const word32 own = (word32)((item - least) >> shift);
      if (own < digit) {
        items[k++] = items[low];
        items[low++] = item;
      } else if (own > digit) {
        items[k] = items[--high];
        items[high] = item;
      } else ++k;
    }
    items += below;
    wanted -= below;
    count = counts[digit];
  }
}
`,
  needs: [widthOf],
};
