import { test } from '@jest/globals';
import { GraphBuilder, contiguousMeta, optimize, decompose, scalar } from '@tsinductor/graph';
import { int, printProgram, printSchedule } from '@tsinductor/ir';
import { lowerGraph } from '../../lowering/src/index.ts';
import { resolveConfig } from '@tsinductor/config';
import { schedule } from './index.ts';

const show = (title: string, build: (b: GraphBuilder) => void): void => {
  const b = new GraphBuilder({ expand: true });
  build(b);
  const graph = optimize(b.finish());
  const program = lowerGraph(graph);
  process.stdout.write(`==== ${title}\n${printProgram(program)}\n`);
  const config = resolveConfig({ env: {} });
  process.stdout.write(printSchedule(schedule(program, { config })) + '\n');
};
const f32 = (...shape: number[]) => contiguousMeta(shape.map(int), 'f32');

const s = (v: number) => scalar(v);
test('x', () => {
  show('cat', (b) => { const x = b.placeholder('x', f32(4, 8)); const y = b.placeholder('y', f32(4, 8)); b.output(b.call('exp', [b.call('cat', [[b.call('sin', [x]), b.call('mul', [y, b.call('sum', [y], { dim: [1], keepdim: true })])]], { dim: 1 })])); });
  show('sym softmax', (b) => { const m = b.sizes.declare('s0', 8); const n = b.sizes.declare('s1', 5);  const x = b.placeholder('x', contiguousMeta([m, n], 'f32')); b.output(b.call('softmax', [b.call('gelu', [x])], { dim: -1 })); });
  show('sym ln', (b) => { const m = b.sizes.declare('s0', 8); const n = b.sizes.declare('s1', 5); const x = b.placeholder('x', contiguousMeta([m, n, int(16)], 'f32')); b.output(b.call('layerNorm', [b.call('reshape', [b.call('sin',[x])], {shape: [-1, 16]})], { normalizedShape: [16] })); });
  show('permute chain', (b) => { const x = b.placeholder('x', f32(4, 8, 6)); const y = b.call('exp', [b.call('permute', [b.call('sin', [x])], { dims: [2, 0, 1] })]); b.output(b.call('add', [b.call('reshape', [b.call('permute', [y], {dims: [1, 0, 2]})], { shape: [24, 8] }), s(1)])); });
  show('rotary', (b) => { const x = b.placeholder('x', f32(2, 3, 8)); const c = b.placeholder('c', f32(3, 8)); const [l, r] = b.callAll('chunk', [x], { chunks: 2, dim: -1 }); const rot = b.call('cat', [[b.call('neg', [r!]), l!]], { dim: -1 }); b.output(b.call('add', [b.call('mul', [x, b.call('cos', [c])]), b.call('mul', [rot, b.call('sin', [c])])])); });
  show('softmax dim0', (b) => { const x = b.placeholder('x', f32(64, 32)); b.output(b.call('softmax', [x], { dim: 0 })); });
  show('softmax 1-d', (b) => { const x = b.placeholder('x', f32(100000)); b.output(b.call('softmax', [x], { dim: 0 })); });
});
