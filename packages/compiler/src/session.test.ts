// What a session remembers of compiled graphs: the ones that were compiled last; one that is dropped is whole for whoever has it.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { resolveConfig, withConfig } from '@tsinductor/config';
import { decompose } from '@tsinductor/graph';
import { tensor } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import { trace } from '@tsinductor/tensor/internal';
import { reset, setConfig, useNativeMemory } from './default-compiler.ts';
import { Session } from './session.ts';
import type { PrepareRequest, TracedGraph } from './request.ts';

const cacheDir = mkdtempSync(join(tmpdir(), 'tsinductor-session-'));
beforeAll(() => {
  setConfig({ cacheDir });
  useNativeMemory();
});
afterAll(() => {
  reset();
  rmSync(cacheDir, { recursive: true, force: true });
});

const tracedOf = (fn: (x: Tensor) => Tensor, x: Tensor): TracedGraph => {
  const { graph } = trace(fn, [x]);
  return { graph, primitives: decompose(graph) };
};
const requestOf = (name: string, x: Tensor): PrepareRequest => ({
  name,
  backend: 'inductor',
  examples: [x],
  placement: { device: 'cpu', outputs: ['cpu'] },
});

test('the least recently used executable is forgotten, found on disk again, and runs on where it is held', () => {
  const config = withConfig(resolveConfig({ env: {} }), { cacheDir, compileThreads: 1 });
  using session = new Session(config, { warn: () => undefined, log: () => undefined }, 1);
  if (session.machine().kind === 'interpreter') return;
  const x = tensor([1, 2, 3], { dtype: 'f32' });
  const [twice, square] = [tracedOf((it) => it.mul(2), x), tracedOf((it) => it.mul(it), x)];
  const request = requestOf('session', x);
  const first = session.prepare(twice, request);
  expect(first.report.origin).toBe('built');
  expect(session.prepare(twice, request)).toBe(first);
  session.prepare(square, request);
  const again = session.prepare(twice, request);
  expect(again).not.toBe(first);
  expect(again.report.origin).toBe('disk');
  for (const executable of [first, again]) expect(executable.run([x])[0]?.toArray()).toEqual([2, 4, 6]);
});
