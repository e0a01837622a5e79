// The public API of @tsinductor/cli: re-exports only.
export {};
