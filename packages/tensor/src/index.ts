// The public API of @tsinductor/tensor: re-exports only.
export {};
