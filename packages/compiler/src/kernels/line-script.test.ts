// The script that debuggers see of a kernel: a function for each line, and a source map that leads there.
import { expect, test } from '@jest/globals';
import { SourceMap } from 'node:module';
import { defineKernel, lowerKernel } from '@tsinductor/dsl';
import { lineScript } from './line-script.ts';
import type { LineScript } from './line-script.ts';

const script = (): LineScript => {
  const source = `({ n, m }, tl) => {
    const class_ = n * 2;
    let total = tl.load(m + class_);
    for (const i of tl.range(0, n)) {
      const more = total + i;

      total = more > 3 ? more : total;
    }
    tl.store(m, tl.sum(tl.full([4], total, tl.f32)));
  }`;
  const body = Reflect.construct(Function, [`return ${source}`]) as () => () => void;
  const schema = { n: 'i32', m: { kind: 'pointer', dtype: 'f32' } } as const;
  const location = { file: '/home/a b/kernel.ts', line: 101 };
  const definition = defineKernel({ name: 'k', schema, body: body(), locate: () => ({ location }) });
  const facts = { n: { dtype: 'i32', divisor: 1 }, m: { dtype: 'f32', divisor: 1 } } as const;
  return lineScript(lowerKernel(definition, { arguments: facts, constants: {} }));
};

test('each function is mapped to its line, whatever distances lie between', () => {
  const { text, places } = script();
  const [code = '', encoded = ''] = text.split('\n//# sourceMappingURL=data:application/json;base64,');
  const map = new SourceMap(JSON.parse(Buffer.from(encoded, 'base64').toString()) as never);
  const found = code.split('\n').flatMap((line, row) => {
    const column = line.indexOf('void');
    if (column < 0) return [];
    const entry = map.findEntry(row, column);
    return 'originalLine' in entry ? [[entry.originalSource, entry.originalLine + 1]] : [];
  });
  const lines = [101, 102, 103, 104, 105, 107, 109].map((line) => ['file:///home/a%20b/kernel.ts', line]);
  expect(found.sort()).toEqual(lines);
  expect(new Set(places.values()).size).toBe(lines.length);
});

test('the variables are parameters, and the text is JavaScript', () => {
  const { text } = script();
  expect(text).toContain('{ n, class_, total, more }, program');
  expect(() => Reflect.construct(Function, [`return ${text}`]) as unknown).not.toThrow();
});
