// The memory of what loops and branches are passed and give: who writes to the one does not change the other, compiled or not.
import { describe, test } from '@jest/globals';
import { compile, cond, ones, scan, tensor, whileLoop, zeros } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { expectSame } from './control-flow-programs.ts';

describe('results are memory of their own, also where a function gives', () => {
  const add = (tensor: Tensor): Tensor => tensor.add_(1);
  const x = ones([3, 2]);

  test.each<readonly [string, (w: Tensor) => readonly (Tensor | Tensor[])[]]>([
    ['what a branch is passed', (w) => [add(cond(w.sum().gt(0), (y: Tensor) => y, add, w)), w]],
    [
      'a view of a tensor from outside',
      (w) => [
        add(
          cond(
            w.sum().gt(0),
            () => w.narrow(0, 0, 1),
            () => w.narrow(0, 1, 1),
          ),
        ),
        w,
      ],
    ],
    ['a tensor from outside, as a carry', (w) => [add(scan((c: Tensor) => [w, c], ones([2]), x)[0]), w]],
    [
      'a tensor from outside that later steps write to',
      (w) => [
        ...scan(
          (c: Tensor, r: Tensor) => {
            w.add_(r);
            return [w, [c, w]];
          },
          ones([2]),
          x,
        ),
        w,
      ],
    ],
    [
      'a tensor from outside that a later step is passed, and writes to',
      (w) => {
        const squares = w.add(1).square();
        const last = scan((c: Tensor) => [squares, [c.copy_(w)]], w.clone(), x)[0];
        return [squares, last];
      },
    ],
    [
      'one tensor twice',
      (w) => {
        const [[a, b]] = scan(
          ([c]: Tensor[], r: Tensor): [Tensor[], Tensor] => {
            const next = r.add(c ?? r);
            return [[next, next], r];
          },
          [w, w],
          x,
        );
        return [a?.add_(1) ?? w, b ?? w, w];
      },
    ],
    ['what it began with, of no step', (w) => [add(scan((c: Tensor, r: Tensor) => [c, r], w, zeros([0, 2]))[0]), w]],
    [
      'the state that a loop began with',
      (w) => [
        add(
          whileLoop(
            (s: Tensor) => s.sum().lt(0),
            (s): Tensor => s,
            w,
          ),
        ),
        w,
      ],
    ],
    [
      'a tensor from outside that the next step of a loop writes to',
      (w) => [
        whileLoop(
          (s: Tensor) => s.sum().lt(9),
          (s) => add(w).add_(s),
          w.mul(0),
        ),
        w,
      ],
    ],
  ])('%s', (_, program) => {
    const wanted = program(ones([2]));
    expectSame(compile(program, { backend: 'aot_eager' })(ones([2])), wanted);
    const inSegments = compile((w: Tensor) => (w.sum().item() === 0 ? [] : program(w)), { backend: 'aot_eager' });
    for (let turn = 0; turn < 2; turn += 1) expectSame(inSegments(ones([2])), wanted);
  });
});

describe('a function that writes to what the loop around it goes over', () => {
  test.each<readonly [string, (x: Tensor) => unknown]>([
    [
      'as rows that are copied in a graph',
      (x) =>
        scan(
          (c: Tensor, r: Tensor) => {
            const [last] = scan((d: Tensor) => [d.add(x.copy_(c)), []], r, undefined, { length: 2 });
            return [c.add(last), r];
          },
          ones([3]),
          x.reshape([3, 1]).expand([3, 3]),
        ),
    ],
    [
      'as the state that is copied in a graph',
      (x) =>
        whileLoop(
          (s: Tensor) => s.sum().lt(99),
          (s) => {
            x.narrow(0, 0, 1).add_(1);
            return s.mul(2).add(x.sum());
          },
          x.narrow(0, 0, 1).expand([3]),
        ),
    ],
  ])('%s', (_, program) => {
    const make = (): Tensor => tensor([1, 2, 3]).to('f32');
    const [first, second] = [make(), make()];
    const compiled = compile((x: Tensor) => program(x), { backend: 'aot_eager' });
    for (let turn = 0; turn < 2; turn += 1) expectSame([compiled(second), second], [program(first), first]);
  });
});
