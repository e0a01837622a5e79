// The public API of tsinductor: re-exports only.
export {};
