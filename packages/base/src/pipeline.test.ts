import { describe, expect, test } from '@jest/globals';
import { Pipeline, StageTexts, StageTimes, verifying, watchedBy } from './index.ts';
import type { Form, Stage } from './index.ts';

const numberForm: Form<number> = {
  print: (value) => `${String(value)}\n`,
  summary: (value) => String(value),
  verify: (value) => {
    if (value < 0) throw new RangeError(`${String(value)} is below 0`);
  },
};
const listForm: Form<readonly number[]> = {
  print: (values) => values.join(' '),
  summary: (values) => `${String(values.length)} numbers`,
  verify: () => undefined,
};

interface Context {
  readonly step: number;
}

const add: Stage<number, number, Context> = {
  name: 'add',
  doc: 'the step',
  makes: numberForm,
  run: (value, { step }) => value + step,
};
const keep: Stage<number, number, Context> = {
  name: 'keep',
  doc: 'as it is',
  makes: numberForm,
  run: (value) => value,
};
const spread: Stage<number, readonly number[], Context> = {
  name: 'spread',
  doc: 'all numbers below',
  makes: listForm,
  run: (count) => Array.from({ length: count }, (_, index) => index),
};
const double: Stage<number, number, number> = {
  name: 'double',
  doc: 'by the factor',
  makes: numberForm,
  run: (value, factor) => value * factor,
};

const doubled = Pipeline.of(double);
const pipeline = Pipeline.of(add)
  .then(keep)
  .through(Pipeline.of({ ...add, name: 'add-more' }), ({ step }) => ({ step: 2 * step }))
  .then(spread)
  .thenEach({
    name: 'sum',
    doc: 'of the doubled ones',
    makes: numberForm,
    stages: doubled,
    contextOf: () => 2,
    parts: (values: readonly number[]) => values,
    run: (values, _, watch) => values.reduce((sum, value) => sum + doubled.run(value, 2, watch), 0),
  });
const context = { step: 1 };

describe('a pipeline', () => {
  test('runs its stages in order, those of pipelines within it among them', () => {
    expect(pipeline.stages.map(({ name }) => name)).toEqual(['add', 'keep', 'add-more', 'spread', 'double', 'sum']);
    expect(pipeline.run(0, context)).toBe(2 * (0 + 1 + 2));
  });

  test.each([
    ['add', '1\n'],
    ['add-more', '3\n'],
    ['spread', '0 1 2'],
    ['double', '0\n\n2\n\n4\n'],
    ['sum', '6\n'],
  ])('is cut after %s', (name, text) => {
    expect(pipeline.upTo(name)?.stages.at(-1)?.name).toBe(name);
    expect(pipeline.upTo(name)?.print(0, context)).toBe(text);
  });

  test('has no part up to a stage that it lacks', () => {
    expect(pipeline.upTo('subtract')).toBeUndefined();
  });
});

describe('watching', () => {
  test('keeps what each stage made, and says where that is the same as before', () => {
    const texts = new StageTexts();
    pipeline.run(0, context, texts);
    const seen = texts.list().map(({ name, summary, isSame }) => [name, isSame ? 'same' : summary]);
    expect(seen).toEqual([
      ['add', '1'],
      ['keep', 'same'],
      ['add-more', '3'],
      ['spread', '3 numbers'],
      ['double', '0, 2, 4'],
      ['sum', '6'],
    ]);
  });

  test('names the stage whose result breaks a law', () => {
    const message = 'what the stage add-more made breaks a law: RangeError: -1 is below 0';
    expect(() => pipeline.run(2, { step: -1 }, verifying)).toThrow(message);
    expect(() => pipeline.run(3, { step: -1 }, verifying)).not.toThrow();
  });

  test('counts the time of a stage without that of the stages within it', () => {
    let clock = 0;
    const times = new StageTimes(() => clock);
    const waiting = <C>(stage: Stage<number, number, C>, milliseconds: number): typeof stage => ({
      ...stage,
      run(value, given) {
        clock += milliseconds;
        return stage.run(value, given);
      },
    });
    const inner = Pipeline.of(waiting(double, 20));
    const outer = { ...keep, run: (value: number) => inner.run(value, 1, times) + inner.run(value, 1, times) };
    Pipeline.of(waiting<Context>(outer, 3)).run(1, context, watchedBy([verifying, times]));
    expect(times.list()).toMatchObject([
      { name: 'double', milliseconds: 40 },
      { name: 'keep', milliseconds: 3 },
    ]);
  });
});
