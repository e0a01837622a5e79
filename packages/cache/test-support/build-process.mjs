// A process that builds one entry, for tests with several processes. Its one argument is JSON: root, key, log (a file to
// which each build appends a line), milliseconds (how long a build takes), killAt (at which file operation, counted from
// the opening of the store, the process kills itself). It prints the content it was given.
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { register } from 'node:module';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

register('./typescript-hooks.mjs', import.meta.url);
const { openStore } = await import('../src/index.ts');
const { nodeFileSystem } = await import('../src/file-system.ts');

const { root, key, log, milliseconds, killAt } = JSON.parse(process.argv[2]);

/** The file system, which kills this process at the chosen call. */
function deadly() {
  let calls = 0;
  const count = () => {
    calls += 1;
    if (calls === killAt) process.kill(process.pid, 'SIGKILL');
  };
  return new Proxy(nodeFileSystem(), {
    get: (target, name) =>
      typeof target[name] !== 'function'
        ? target[name]
        : (...args) => {
            count();
            return target[name](...args);
          },
  });
}

const store = openStore({
  root,
  namespace: 'fx',
  temporaryDirectory: root,
  report: (event) => console.error(JSON.stringify(event)),
  ...(killAt === undefined ? {} : { fs: deadly() }),
});
const artifact = await store.withBuildLock(key, async (directory) => {
  appendFileSync(log, `${process.pid}\n`);
  await sleep(milliseconds);
  writeFileSync(join(directory, 'text'), `content of ${key}`);
  writeFileSync(join(directory, 'more'), 'x'.repeat(5000));
  return { files: ['text', 'more'], info: { inputs: { key }, versions: {}, data: null } };
});
console.log(readFileSync(artifact.paths.text, 'utf8'));
