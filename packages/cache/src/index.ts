// The public API of @tsinductor/cache: re-exports only.
export {};
