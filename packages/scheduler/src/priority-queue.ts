// A binary heap: what comes first by an order, whatever came in when. Equal items come out in the order given by the rest
// of the comparison, so that callers compare by something unique where results have to be deterministic.
import { at } from '@tsinductor/base';

export class PriorityQueue<T> {
  readonly #items: T[] = [];
  readonly #compare: (a: T, b: T) => number;

  constructor(compare: (a: T, b: T) => number) {
    this.#compare = compare;
  }

  get size(): number {
    return this.#items.length;
  }

  push(item: T): void {
    const items = this.#items;
    let position = items.push(item) - 1;
    while (position > 0) {
      const parent = (position - 1) >> 1;
      if (this.#compare(at(items, parent), item) <= 0) break;
      items[position] = at(items, parent);
      position = parent;
    }
    items[position] = item;
  }

  /** Takes the first item; undefined: there is none. */
  pop(): T | undefined {
    const items = this.#items;
    const [first] = items;
    const last = items.pop();
    if (last !== undefined && items.length > 0) this.#sink(last);
    return first;
  }

  #sink(item: T): void {
    const items = this.#items;
    let position = 0;
    for (;;) {
      let child = 2 * position + 1;
      if (child >= items.length) break;
      if (child + 1 < items.length && this.#compare(at(items, child + 1), at(items, child)) < 0) child += 1;
      if (this.#compare(item, at(items, child)) <= 0) break;
      items[position] = at(items, child);
      position = child;
    }
    items[position] = item;
  }
}
