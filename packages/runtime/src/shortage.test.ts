import { describe, expect, test } from '@jest/globals';
import { compilerFailed, compilerNotFound, bridgeUnfit, isaProbeFailed } from './errors.ts';
import { shortageHint } from './shortage.ts';

describe('what to do', () => {
  test.each([
    ['error writing to /tmp/cc.s: No space left on device', /disk is full.*TORCHINDUCTOR_CACHE_DIR/],
    ['Error: EDQUOT: disk quota exceeded, write', /disk is full/],
    ['g++ (PATH): fails, spawnSync /bin/sh EMFILE', /ulimit -n/],
    ['cc1plus: out of memory allocating 65536 bytes', /memory is short/],
    ['bridge.node: failed to map segment from shared object', /noexec.*TORCHINDUCTOR_CACHE_DIR/],
    ["scalar: EACCES: permission denied, access '/x/tsinductor-probe-1/probe'", /noexec/],
  ])('where it is said that %s', (text, hint) => {
    expect(shortageHint(text)).toMatch(hint);
  });

  test('is for the one who asks where the machine lacks nothing', () => {
    expect(shortageHint("error: expected ';' before '}' token")).toBeUndefined();
  });

  test('is told by the errors of compilers', () => {
    const trace = { command: ['g++'], stderr: 'fatal error: No space left on device', sourcePath: undefined };
    expect(compilerFailed(trace, 1).hint).toMatch(/disk is full/);
    expect(compilerFailed({ ...trace, stderr: 'error: x' }, 1).hint).toMatch(/please report/);
    expect(compilerNotFound('g++ (PATH): fails, EMFILE').hint).toMatch(/ulimit/);
    expect(compilerNotFound('g++ (PATH): missing').hint).toMatch(/install g\+\+/);
    expect(bridgeUnfit('/x', 'status 1, Error: failed to map segment from shared object').hint).toMatch(/noexec/);
    expect(isaProbeFailed('g++', 'scalar: Cannot allocate memory').hint).toMatch(/memory is short/);
  });
});
