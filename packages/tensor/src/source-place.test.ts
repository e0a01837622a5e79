import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { transformSync } from '@swc/core';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { sourcePlace } from './source-place.ts';

const source = `interface Unused { readonly x: number }
type AlsoUnused = Unused;

const f = (x: number): number => {
  return x.toFixed(2).length;
};
f(1);
`;

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'source place (b) '));
});
afterEach(() => {
  rmSync(directory, { recursive: true, force: true });
});

const { code, map = '' } = transformSync(source, {
  filename: 'model.ts',
  jsc: { parser: { syntax: 'typescript' }, target: 'es2022' },
  sourceMaps: true,
});
const written = code.split('\n').findIndex((line) => line.includes('toFixed')) + 1;
const columnIn = (line: string): number => line.indexOf('toFixed') + 1;

/** Writes the compiled file with this last line; gives where it says `toFixed`. */
function compiled(last: string): { file: string; line: number; column: number } {
  const file = join(directory, 'model.js');
  writeFileSync(file, `${code}${last}`);
  return { file, line: written, column: columnIn(code.split('\n')[written - 1] ?? '') };
}

const original = (): object => ({ file: join(directory, 'model.ts'), line: 5, column: columnIn('  return x.toFixed') });

describe('a place in compiled JavaScript', () => {
  test('is one in its source, by a map beside it', () => {
    expect(written).not.toBe(5);
    writeFileSync(join(directory, 'model.js.map'), map);
    expect(sourcePlace(compiled('//# sourceMappingURL=model.js.map\n'))).toEqual(original());
  });

  test.each(['base64', 'percent'])('is one in its source, by a map inside (%s)', (form) => {
    const content = form === 'base64' ? Buffer.from(map).toString('base64') : encodeURIComponent(map);
    const type = form === 'base64' ? 'application/json;charset=utf-8;base64' : 'application/json';
    expect(sourcePlace(compiled(`//# sourceMappingURL=data:${type},${content}`))).toEqual(original());
  });

  test('keeps a name that a bundler made up', () => {
    writeFileSync(join(directory, 'model.js.map'), map.replace('"model.ts"', '"webpack://app/./model.ts"'));
    expect(sourcePlace(compiled('//# sourceMappingURL=model.js.map'))).toMatchObject({
      file: 'webpack://app/./model.ts',
      line: 5,
    });
  });

  test.each([
    ['names no map', ''],
    ['names a map that is gone', '//# sourceMappingURL=gone.js.map'],
    ['names a map that is none', '//# sourceMappingURL=data:application/json,nothing'],
    ['speaks of maps in its middle', '//# sourceMappingURL=model.js.map\nexport const g = 1;\n'],
  ])('stays where the file %s', (_name, last) => {
    const place = compiled(last);
    expect(sourcePlace(place)).toEqual(place);
  });
});

test('a place in TypeScript, or in a file that is gone, stays', () => {
  for (const file of [join(directory, 'model.ts'), join(directory, 'gone.js'), '[eval]'])
    expect(sourcePlace({ file, line: 3, column: 1 })).toEqual({ file, line: 3, column: 1 });
});
