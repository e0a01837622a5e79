import { expect, test } from '@jest/globals';
import { limitFindings } from './doctor-limits.ts';

const limits = ({
  files = '1048576',
  data = 'unlimited',
  space = 'unlimited',
}): string => `Limit                     Soft Limit           Hard Limit           Units
Max data size             ${data}            unlimited            bytes
Max open files            ${files}                 1048576              files
Max address space         ${space}            unlimited            bytes
`;

test('limits that are in nobody’s way are not mentioned', () => {
  expect(limitFindings(limits({}))).toEqual([]);
  expect(limitFindings('')).toEqual([]);
});

test('few files and little memory are, with what to do', () => {
  expect(limitFindings(limits({ files: '25', data: '536870912' }))).toEqual([
    expect.objectContaining({ verdict: 'note', detail: expect.stringContaining('25 files') as unknown }),
    expect.objectContaining({ remedy: expect.stringContaining('ulimit -d') as unknown }),
  ]);
  expect(limitFindings(limits({ space: '1073741824' }))).toEqual([
    expect.objectContaining({ detail: expect.stringContaining('1.00 GiB') as unknown }),
  ]);
});
