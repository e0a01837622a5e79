// The public API of @tsinductor/ops: re-exports only.
export {};
