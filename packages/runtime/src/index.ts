// The public API of @tsinductor/runtime: re-exports only.
export {};
