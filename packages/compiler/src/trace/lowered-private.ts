// #private fields as compilers translate them: to a WeakMap for each field (a WeakSet for methods) that the instance is a key
// of. A stand-in is no key of theirs. While a function is traced, they are asked about the object that it stands for.
//
// In: who knows the stand-ins, and what is to run. Out: its result, with the methods of WeakMap and WeakSet as they were.

interface PrivateState {
  /** Whether it is a stand-in. */
  knows(key: unknown): key is object;
  read(key: object, map: WeakMap<object, unknown>): unknown;
  has(key: object, members: Members): boolean;
  /** Throws where a write is refused; otherwise gives the object to write to. */
  written(key: object): object;
}

type Members = Pick<WeakMap<object, unknown>, 'has'>;

type Method = (this: object, key: object, value?: unknown) => unknown;

export function withPrivateState<T>(state: PrivateState, work: () => T): T {
  const [map, set] = [WeakMap.prototype, WeakSet.prototype];
  const has = (original: Method): Method =>
    function (key) {
      return state.knows(key) ? state.has(key, this as Members) : original.call(this, key);
    };
  const write = (original: Method): Method =>
    function (key, value) {
      return original.call(this, state.knows(key) ? state.written(key) : key, value);
    };
  const restore = [
    replaceMethod(
      map,
      'get',
      (original) =>
        function (key) {
          return state.knows(key) ? state.read(key, this as WeakMap<object, unknown>) : original.call(this, key);
        },
    ),
    replaceMethod(map, 'has', has),
    replaceMethod(set, 'has', has),
    replaceMethod(map, 'set', write),
    replaceMethod(map, 'delete', write),
    replaceMethod(set, 'add', write),
    replaceMethod(set, 'delete', write),
  ];
  try {
    return work();
  } finally {
    for (const undo of restore) undo();
  }
}

/** Puts another function in a method's place, if that may be changed; gives what takes it back. */
export function replaceMethod(prototype: object, name: string, wrap: (original: Method) => Method): () => void {
  const before = Object.getOwnPropertyDescriptor(prototype, name);
  if (before?.configurable !== true) return () => undefined;
  Object.defineProperty(prototype, name, { ...before, value: wrap(before.value as Method) });
  return () => {
    Object.defineProperty(prototype, name, before);
  };
}
