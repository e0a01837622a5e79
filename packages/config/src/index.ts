// The public API of @tsinductor/config: re-exports only.
export {};
