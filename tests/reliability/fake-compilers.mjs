// Compilers that misbehave: shell scripts around the real one. In: a directory and what the script does at which of its
// calls. Out: the path of a `g++` that is the only one on its PATH.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** What a call of the compiler is for, by its arguments; a pattern of `case`. */
export const calls = {
  version: '*--version*',
  bridge: '*bridge.cc*',
  graph: '*-nostdlib*',
  probe: '*/probe*',
  any: '*',
};

/** Does the real work, so that `$last` is the output. */
const work = 'g++ "$@" || exit $?';

/** Ways to fail, as shell; the real compiler's work is done where a way says so. */
export const ways = {
  hangs: 'while :; do sleep 1; done',
  'hangs, deaf to SIGTERM': "trap '' TERM; while :; do sleep 1; done",
  'hangs in a child': 'sleep 1000 & wait',
  'ends with status 1': 'echo "no reason at all" >&2; exit 1',
  'is killed': 'kill -KILL $$',
  crashes: 'kill -SEGV $$',
  'prints garbage': 'head -c 4096 /dev/urandom; exit 0',
  'prints for ever': 'yes; exit 0',
  'leaves nothing': 'exit 0',
  'leaves an empty file': ': > "$last"; exit 0',
  'leaves garbage': 'head -c 16000 /dev/urandom > "$last"; exit 0',
  'leaves half a file': `${work}; s=$(stat -c %s "$last"); truncate -s $((s / 2)) "$last"; exit 0`,
  'leaves a file without its end': `${work}; s=$(stat -c %s "$last"); truncate -s $((s - 100)) "$last"; exit 0`,
  'leaves a file of zeros': `${work}; s=$(stat -c %s "$last"); : > "$last"; truncate -s "$s" "$last"; exit 0`,
  'makes another entry': 'echo "int other() { return 0; }" | g++ -shared -nostdlib -x c++ - -o "$last"; exit 0',
  'makes code of another machine': 'echo "int other() { return 0; }" | g++ -m32 -c -x c++ - -o "$last"; exit 0',
  'finds no memory': 'ulimit -v 30000; exec g++ "$@"',
  'finds the disk full': 'echo "fatal error: error writing to /tmp/x.s: No space left on device" >&2; exit 1',
  passes: ':',
  'turns fast-math on': 'exec g++ -ffast-math "$@"',
};

/**
 * Writes a directory with a `g++` that fails in `way` at calls of `call`, and is the real one otherwise. Where `once`, only the
 * first such call fails.
 */
export function fakeCompiler(directory, { call, way, once = false }) {
  mkdirSync(directory, { recursive: true });
  const mark = join(directory, 'failed-once');
  const fails = once ? `if mkdir ${mark} 2>/dev/null; then ${ways[way]}\nfi` : ways[way];
  const log = `echo "$*" >> ${join(directory, 'calls')}`;
  const body = `PATH=/usr/local/bin:/usr/bin:/bin\n${log}\nfor last; do :; done\ncase "$*" in ${calls[call]}) ${fails};; esac\nexec g++ "$@"`;
  const path = join(directory, 'g++');
  writeFileSync(path, `#!/bin/sh\n${body}\n`, { mode: 0o755 });
  return path;
}
