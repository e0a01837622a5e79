// The public API of @tsinductor/codegen: re-exports only.
export {};
