// The public API of @tsinductor/compiler: re-exports only.
export {};
