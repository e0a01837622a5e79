// The public API of @tsinductor/codegen-cpp: re-exports only.
export {};
