// The public API of @tsinductor/ir: re-exports only.
export {};
