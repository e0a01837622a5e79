// What readers of other file formats share with those of this package: bytes, and errors of files. Re-exports only; imported as
// `@tsinductor/tensor/file-access`, and as little promised to anyone outside as what is internal.
export { badFile, describe, fileAccess, unsupportedFile } from './errors.ts';
export { checkBytes, readBytes, swapBytes } from './files/bytes.ts';
