// Loader hooks that run this repository's TypeScript sources in a plain Node process: types are stripped by swc, workspace
// packages resolve to their sources. For processes that tests start.
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { transform } from '@swc/core';

const packages = new URL('../../', import.meta.url);

export async function resolve(specifier, context, next) {
  const name = /^@tsinductor\/([a-z-]+)$/.exec(specifier)?.[1];
  if (name === undefined) return next(specifier, context);
  return { url: new URL(`${name}/src/index.ts`, packages).href, format: 'module', shortCircuit: true };
}

export async function load(url, context, next) {
  if (!url.endsWith('.ts')) return next(url, context);
  const filename = fileURLToPath(url);
  const { code } = await transform(await readFile(filename, 'utf8'), {
    filename,
    jsc: { parser: { syntax: 'typescript' }, target: 'es2022' },
    module: { type: 'es6' },
  });
  return { format: 'module', source: code, shortCircuit: true };
}
