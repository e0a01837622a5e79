// What a worker makes of what it is asked for: its own compiler, cache and bounds, and nothing that the key does not stand for.
import { expect, test } from '@jest/globals';
import { resolveConfig } from '@tsinductor/config';
import type { Toolchain } from '@tsinductor/runtime';
import type { BuildJob } from '../workers/protocol.ts';
import { decodeJob, encodeJob } from './farm-job.ts';

const toolchain = { fingerprint: 'f'.repeat(64), version: 'g++ 12', command: ['/usr/bin/c++'] } as unknown as Toolchain;
const key = 'ab'.repeat(32);
const sent = {
  key,
  name: 'step',
  units: [{ name: 'graph', source: 'int run_step;' }],
  plan: '{"entry":"run_step"}',
  inputs: { operators: 'add' },
  toolchain: { ...toolchain, command: ['/bin/rm', '-rf'] },
  cacheRoot: '/elsewhere',
  logging: { path: '/elsewhere/log', isSilent: false },
} as unknown as BuildJob;
const config = resolveConfig({ env: {}, program: { compileTimeout: 7 } });
const here = { toolchain, cacheRoot: '/here', config };

test('a job is built with what the machine has that builds it', () => {
  const job = decodeJob(encodeJob(sent), key, here);
  expect(job).toMatchObject({ key, name: 'step', units: sent.units, plan: sent.plan, inputs: sent.inputs });
  expect(job).toMatchObject({ toolchain, cacheRoot: '/here', deadlineMs: 7000, functions: ['run_step'] });
  expect(JSON.stringify(job)).not.toMatch(/elsewhere|\/bin\/rm/);
});

test('a job of another key or compiler, and what is no job, are refused', () => {
  const refused = expect.objectContaining({ code: 'FARM_JOB' });
  const other = { ...here, toolchain: { ...toolchain, fingerprint: '0' } as unknown as Toolchain };
  expect(() => decodeJob(encodeJob(sent), key, other)).toThrow(refused);
  expect(() => decodeJob(encodeJob(sent), 'cd'.repeat(32), here)).toThrow(refused);
  const texts = [
    '',
    'null',
    '[]',
    '{}',
    JSON.stringify({ ...sent, units: [{}] }),
    JSON.stringify({ ...sent, plan: 3 }),
  ];
  for (const text of texts) expect(() => decodeJob(Buffer.from(text), key, here)).toThrow(refused);
});
