// The public API of @tsinductor/graph: re-exports only.
export {};
