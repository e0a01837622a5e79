// What happened that did not stop anybody but that somebody should hear of: values, given to the `report` callback of a
// store. The caller decides whether that becomes a warning, a log line or a count.

export type CacheEvent =
  /** The configured root was unusable; `root` is used instead, for this process only. */
  | { readonly kind: 'fallback'; readonly root: string; readonly message: string }
  /** An entry or a record did not match its digests. It was treated as absent and moved out of the way. */
  | { readonly kind: 'damaged'; readonly key: string; readonly message: string }
  /** An entry could not be read for reasons of the system. It was treated as absent and left where it is. */
  | { readonly kind: 'unreadable'; readonly key: string; readonly message: string }
  /** Building went on without a lock, or longer than the lock lasted; another process may do the same work. */
  | { readonly kind: 'unlocked'; readonly key: string; readonly message: string };

export type Report = (event: CacheEvent) => void;

/** The system's error code of a failure, '' where it has none. */
export const errorCode = (error: unknown): string => {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === 'string' ? code : '';
};
