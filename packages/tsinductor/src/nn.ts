// tsinductor/nn: modules. Re-exports only.
export * from '@tsinductor/nn';
