// The public API of @tsinductor/scheduler: re-exports only.
export {};
