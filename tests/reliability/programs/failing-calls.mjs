// Makes one call of the system fail, counted over those of files and processes in one thread. Loaded before a program, with the number in
// FAIL_AT, the error's code in FAIL_CODE, and where the program begins in FAIL_FROM; says at the end how many calls there were.
import childProcess from 'node:child_process';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { isMainThread } from 'node:worker_threads';

if (isMainThread && process.env.FAIL_AT !== undefined) {
  const failAt = Number(process.env.FAIL_AT);
  const code = process.env.FAIL_CODE;
  const names = [
    ...[
      'accessSync',
      'chmodSync',
      'closeSync',
      'fstatSync',
      'fsyncSync',
      'lstatSync',
      'mkdirSync',
      'mkdtempSync',
      'openSync',
    ],
    ...[
      'readFileSync',
      'readdirSync',
      'readlinkSync',
      'realpathSync',
      'renameSync',
      'rmSync',
      'statSync',
      'truncateSync',
    ],
    ...['writeFileSync', 'writeSync'],
  ];
  let calls = 0;
  let last = '';
  /** Calls that our own packages make: the loader of Node has no answer to a failing system. */
  const isOurs = () => {
    const caller = new Error().stack
      .split('\n')
      .slice(3)
      .find((frame) => !/\(node:(fs|child_process)/.test(frame));
    return /packages\/[a-z-]+\/(dist|lib)\//.test(caller ?? '');
  };
  const wrap = (module, name) => {
    const real = module[name];
    module[name] = function (...args) {
      if (isOurs()) {
        calls += 1;
        if (calls === failAt) {
          last = name;
          const error = Object.assign(new Error(`${code}: injected in ${name}`), { code, errno: -5, syscall: name });
          if (name === 'spawnSync')
            return { pid: 0, error, status: null, signal: null, stdout: null, stderr: null, output: null };
          if (name === 'closeSync') real.apply(this, args);
          throw error;
        }
      }
      return real.apply(this, args);
    };
  };
  for (const name of names) wrap(fs, name);
  for (const name of ['spawn', 'spawnSync']) wrap(childProcess, name);
  syncBuiltinESMExports();
  process.on('exit', () => process.stderr.write(`calls ${calls} ${last}\n`));
}
