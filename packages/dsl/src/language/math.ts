// Element-wise operations beside the pointwise table, the matrix product, and picking elements.
import { at, isFloat } from '@tsinductor/base';
import { dotDType } from '@tsinductor/ir';
import { promoteTypes } from '@tsinductor/ops';
import { asTest, broadcastAll, broadcastTile } from '../lower/coerce.ts';
import { faultAt } from '../lower/context.ts';
import { applyPointwise } from '../lower/pointwise.ts';
import { describeValue, numberValue, tileValue } from '../lower/value.ts';
import type { KernelValue } from '../lower/value.ts';
import { entry } from './define.ts';
import type { Call, LanguageEntry } from './define.ts';

export const where: LanguageEntry = entry('x where test is true, y elsewhere.', ['test', 'x', 'y'], (call) =>
  selectValue(call),
);

function selectValue(call: Call): KernelValue {
  const test = call.value('test');
  const known = test.kind === 'boolean' ? test.value : test.kind === 'number' ? test.value !== 0 : undefined;
  const [x, y] = [call.value('x'), call.value('y')];
  if (known !== undefined && x.kind !== 'tile' && y.kind !== 'tile') return known ? x : y;
  if (x.kind === 'pointer' && y.kind === 'pointer' && x.param === y.param) {
    const { builder } = call.site.context;
    const dtype = promoteTypes(x.offsets.dtype, y.offsets.dtype);
    const [choice, left, right] = broadcastAll(
      [asTest(test, call.at('test')), builder.cast(x.offsets, dtype), builder.cast(y.offsets, dtype)],
      call.site,
    );
    return {
      ...x,
      offsets: builder.apply(
        'where',
        [choice, left, right].flatMap((tile) => tile ?? []),
      ),
    };
  }
  return applyPointwise('where', [tileValue(asTest(test, call.at('test'))), x, y], call.site);
}

export const clamp: LanguageEntry = entry('x held between two bounds; NaN stays.', ['x', 'low', 'high'], (call) => {
  const raised = applyPointwise('maximum', [call.value('x'), call.value('low')], call.site);
  return applyPointwise('minimum', [raised, call.value('high')], call.site);
});

export const fdiv: LanguageEntry = entry('x / y.', ['x', 'y'], (call) =>
  applyPointwise('div', [call.value('x'), call.value('y')], call.site),
);

export const cdiv: LanguageEntry = entry('x / y rounded up, of whole numbers.', ['x', 'y'], (call) => {
  const [x, y] = [call.value('x'), call.value('y')];
  if (x.kind === 'number' && y.kind === 'number') return numberValue(Math.ceil(x.value / y.value));
  if (isFloat(call.tile('x').dtype) || isFloat(call.tile('y').dtype))
    return call.refuse(
      isFloat(call.tile('x').dtype) ? 'x' : 'y',
      'of whole numbers',
      'cast it with tl.cast(x, tl.i32)',
    );
  const negated = applyPointwise('neg', [x], call.site);
  return applyPointwise('neg', [applyPointwise('divFloor', [negated, y], call.site)], call.site);
});

export const dot: LanguageEntry = entry(
  'Matrix product of [M, K] and [K, N], plus acc.',
  ['a', 'b', 'acc?', 'precision?'],
  (call) => {
    const [a, b] = [call.tile('a'), call.tile('b')];
    const { builder } = call.site.context;
    const [rows, depth] = a.shape;
    const [inner, columns] = b.shape;
    if (
      rows === undefined ||
      depth === undefined ||
      columns === undefined ||
      inner !== depth ||
      a.shape.length + b.shape.length !== 4
    )
      throw faultAt(call.site.node, call.site.context, [
        'KERNEL_SHAPE',
        `tl.dot takes [M, K] and [K, N], not ${describeValue(call.value('a'))} and ${describeValue(call.value('b'))}`,
        'transpose an operand with tl.trans, or give both two axes',
      ]);
    if (a.dtype !== b.dtype || a.dtype === 'bool')
      throw faultAt(call.site.node, call.site.context, [
        'KERNEL_DTYPE',
        `tl.dot takes two blocks of one dtype, not ${a.dtype} and ${b.dtype}`,
        'cast one to the dtype of the other with tl.cast',
      ]);
    const precision = call.has('precision') ? call.text('precision') : 'ieee';
    if (precision !== 'ieee' && precision !== 'tf32')
      return call.refuse('precision', "'ieee' or 'tf32'", 'leave it out for full precision');
    const result = dotDType(a.dtype);
    const sums = call.has('acc')
      ? [builder.cast(broadcastTile(call.tile('acc', result), [rows, columns], call.at('acc')), result)]
      : [];
    return tileValue(builder.op({ op: 'dot', attrs: { precision }, args: [a, b, ...sums] }));
  },
);

export const gather: LanguageEntry = entry(
  'Elements of source at positions along an axis.',
  ['source', 'index', 'axis'],
  (call) => {
    const [source, index] = [call.tile('source'), call.integers('index')];
    const axis = call.axis('axis', source.shape.length);
    const fits =
      source.shape.length === index.shape.length &&
      source.shape.every((extent, place) => place === axis || extent === at(index.shape, place));
    if (!fits)
      throw faultAt(call.at('index').node, call.site.context, [
        'KERNEL_SHAPE',
        `tl.gather: [${source.shape.join(', ')}] and [${index.shape.join(', ')}] differ beside axis ${String(axis)}`,
        'broadcast the index with tl.broadcastTo',
      ]);
    return tileValue(call.site.context.builder.op({ op: 'gather', attrs: { axis }, args: [source, index] }));
  },
);
