// Writes docs/errors.md from the constructors of errors in all packages: code, kind, what it says, what to do about it.
//
// npm run docs:errors
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { renderErrors } from '../packages/testing/dist/render-errors.js';

const root = fileURLToPath(new URL('..', import.meta.url));
writeFileSync(`${root}docs/errors.md`, renderErrors(root));
