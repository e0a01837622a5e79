import { expect, test } from '@jest/globals';
import { operators } from '@tsinductor/graph';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { linalg, nn, special, Tensor } from './index.ts';
import * as everything from './index.ts';
import { functionsIn, methodsOf } from './public-forms.ts';
import { renderGenerated } from './render-declarations.ts';

/** What is left of a source when its layout, which the formatter owns, is taken away. */
const withoutLayout = (text: string): string =>
  text
    .replace(/(?<=(?:[({:<[,]|=>)\s+)\|/g, '')
    .replace(/[\s;,]+/g, ' ')
    .replace(/ ?([(){}[\]<>:|=]) ?/g, '$1');

test.each([...renderGenerated(operators)])('generated/%s is up to date (npm run generate)', (name, text) => {
  const written = readFileSync(join(import.meta.dirname, 'generated', name), 'utf8');
  expect(withoutLayout(written) === withoutLayout(text)).toBe(true);
});

test('everything that is declared is there', () => {
  const missing = [
    ...methodsOf(operators.values()).flatMap(({ name, forms, inPlace }) => [
      ...(forms.includes('method') && !(name in Tensor.prototype) ? [name] : []),
      ...(inPlace === true && !(`${name}_` in Tensor.prototype) ? [`${name}_`] : []),
    ]),
    ...functionsIn('', operators.values()).flatMap(([name]) => (name in everything ? [] : [name])),
    ...functionsIn('linalg', operators.values()).flatMap(([name]) => (name in linalg ? [] : [`linalg.${name}`])),
    ...functionsIn('special', operators.values()).flatMap(([name]) => (name in special ? [] : [`special.${name}`])),
    ...functionsIn('nn.functional', operators.values()).flatMap(([name]) =>
      name in nn.functional ? [] : [`nn.functional.${name}`],
    ),
  ];
  expect(missing).toEqual([]);
});
