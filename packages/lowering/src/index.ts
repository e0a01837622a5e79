// The public API of @tsinductor/lowering: re-exports only.
export {};
