// `npm run check`: format, types and lint rules side by side, since each of them keeps one core busy for a minute or more. What one of
// them says is printed when it ends, whole; the exit code is 1 if any of them complained.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Runs one script of package.json. Out: whether it passed. */
function passes(script) {
  return new Promise((resolve) => {
    const begun = performance.now();
    const child = spawn('npm', ['run', '--silent', script], { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
    const said = [];
    child.stdout.on('data', (text) => said.push(text));
    child.stderr.on('data', (text) => said.push(text));
    child.on('error', (error) => said.push(Buffer.from(`${error.message}\n`)));
    child.on('close', (code) => {
      const seconds = ((performance.now() - begun) / 1000).toFixed(0);
      process.stdout.write(Buffer.concat(said));
      console.log(`${script}: ${code === 0 ? 'passed' : 'FAILED'} in ${seconds} s`);
      resolve(code === 0);
    });
  });
}

const passed = await Promise.all(['lint:rules', 'lint:types', 'format:check'].map(passes));
if (passed.includes(false)) process.exitCode = 1;
