// The public API of @tsinductor/testing: re-exports only.
export {};
