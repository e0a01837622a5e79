// Schemas of custom ops: what they mean, and what is said of each that means nothing.
import { describe, expect, test } from '@jest/globals';
import { isTsInductorError } from '@tsinductor/base';
import { parseOpSchema } from './op-schema.ts';

const parse = (text: string): ReturnType<typeof parseOpSchema> => parseOpSchema('mylib::f', text);

describe('a schema', () => {
  test('gives parameters with types, defaults and null, positional or by name only', () => {
    const { parameters, mutated, results, isSingle } = parse(
      "(Tensor x, Tensor[] rest, Tensor? bias=None, *, float alpha=1.5, int[] dims=[0, -1], bool flip=True, str mode='sum', ScalarType? dtype=None, Scalar scale=2) -> Tensor",
    );
    expect(parameters).toEqual([
      { name: 'x', type: 'tensor' },
      { name: 'rest', type: 'tensors' },
      { name: 'bias', type: 'tensor', nullable: true, default: null },
      { name: 'alpha', type: 'float', default: 1.5, keywordOnly: true },
      { name: 'dims', type: 'ints', default: [0, -1], keywordOnly: true },
      { name: 'flip', type: 'bool', default: true, keywordOnly: true },
      { name: 'mode', type: 'string', default: 'sum', keywordOnly: true },
      { name: 'dtype', type: 'dtype', nullable: true, default: null, keywordOnly: true },
      { name: 'scale', type: 'scalar', default: { kind: 'scalar', category: 'int', value: 2 }, keywordOnly: true },
    ]);
    expect({ mutated, results, isSingle }).toEqual({ mutated: [], results: [{ of: undefined }], isSingle: true });
  });

  test('says what is written to, and which result is an argument', () => {
    const { mutated, results } = parse('(Tensor(a!) x, Tensor(b!) y) -> (Tensor(b!), Tensor out)');
    expect(mutated).toEqual(['x', 'y']);
    expect(results).toEqual([{ of: 'y' }, { of: undefined }]);
  });

  test.each([
    ['() -> Tensor', [], [{ of: undefined }]],
    ['(Tensor x) -> ()', ['x'], []],
    ['(Tensor x) -> Tensor[]', ['x'], 'list'],
    ['( Tensor x )->Tensor', ['x'], [{ of: undefined }]],
  ])('%s', (text, names, results) => {
    const schema = parse(text);
    expect(schema.parameters.map(({ name }) => name)).toEqual(names);
    expect(schema.results).toEqual(results);
  });
});

/** What an error says, and what its carets stand under. */
function refusal(text: string): { readonly code: string; readonly message: string; readonly pointed: string } {
  try {
    parse(text);
  } catch (error) {
    if (!isTsInductorError(error)) throw error;
    const [, shown = '', carets = ''] = /\n\n( {4}.*)\n( +\^+)\n/.exec(error.message) ?? [];
    return { code: error.code, message: error.message, pointed: shown.slice(carets.indexOf('^'), carets.length) };
  }
  throw new RangeError(`${text} was taken`);
}

describe('a wrong schema is an error with a caret', () => {
  test.each([
    ['', '( is missing', ''],
    ['Tensor x -> Tensor', '( is missing', 'Tensor'],
    ['(Tensor x)', '-> is missing', ''],
    ['(Tenser x) -> Tensor', 'Tenser is not a type', 'Tenser'],
    ['(toString x) -> Tensor', 'toString is not a type', 'toString'],
    ['(Tensor) -> Tensor', 'a name is missing', ')'],
    ['(Tensor x Tensor y) -> Tensor', ', is missing', 'Tensor'],
    ['(Tensor x, Tensor x) -> Tensor', 'a second parameter x', 'x'],
    ['(Tensor __proto__) -> Tensor', 'cannot be called __proto__', '__proto__'],
    ['(Tensor x, int n=1.5) -> Tensor', '1.5 is no default', '1.5'],
    ['(Tensor x, int n=None) -> Tensor', 'None is no default', 'None'],
    ['(Tensor x, int n=) -> Tensor', 'a default is missing', ')'],
    ['(Tensor x=1) -> Tensor', '1 is no default', '1'],
    ['(Tensor x, str mode=`id`) -> Tensor', '`id` is no default', '`id`'],
    ['(int n=1, Tensor x) -> Tensor', 'x has no default', 'x'],
    ['(Tensor x, *, int a, *, int b) -> Tensor', 'a second *', '*'],
    ['(float[] x) -> Tensor', 'lists of float', 'float'],
    ['(Tensor(a) x) -> Tensor(a)', 'shares memory', 'a'],
    ['(Tensor(a!) x, Tensor(a!) y) -> Tensor', 'a second (a!)', 'Tensor'],
    ['(Tensor(a!)[] x) -> Tensor', 'only a Tensor can be written to', 'Tensor'],
    ['(Tensor x) -> Tensor(b!)', 'no parameter is marked (b!)', 'Tensor'],
    ['(Tensor x) -> int', 'gives tensors', 'int'],
    ['(Tensor x) -> (Tensor, Tensor[])', 'a list among other results', 'Tensor'],
    ['(Tensor x) -> Tensor; process.exit()', 'goes on after its end', ';'],
    ['(Tensor x -> Tensor', ', is missing', '->'],
  ])('%s', (text, what, pointed) => {
    const error = refusal(text);
    expect(error.code).toBe('CUSTOM_OP_SCHEMA');
    expect(error.message).toContain(`the schema of custom op mylib::f: `);
    expect(error.message).toContain(what);
    expect(error.pointed.trim()).toBe(pointed);
  });

  test('of any length shows the place alone', () => {
    const error = refusal(`(${'Tensor x, '.repeat(50)}`);
    expect(error.message).toContain('a second parameter x');
    expect(refusal(`(${' '.repeat(3000)}) -> Tensor`).message).toContain('more than 2000 characters');
    expect(error.message.length).toBeLessThan(400);
  });
});
