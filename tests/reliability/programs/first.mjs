// The first program of a stranger: a compiled function, called twice, and eager mode beside it. Prints what it found as JSON.
import { queuedMilliseconds } from './queued.mjs';

const started = performance.now();
const warnings = [];
process.on('warning', ({ code, message }) => warnings.push({ code, message }));
const answer = { kind: 'none' };
let lastCall = started;
let queued = 0;
try {
  const { compile, tensor } = await import('tsinductor');
  const f = compile((x, y) => x.mul(2).add(y).relu().sum(-1), JSON.parse(process.env.FIRST_OPTIONS ?? '{}'));
  const x = tensor([
    [1, -2, 3],
    [-4, 5, -6],
  ]);
  const values = [f(x, x).toArray(), f(x, x).toArray()];
  // What was loaded has left alone how this process computes: there are still subnormal numbers.
  const isOurs = new Float64Array([1e-310])[0] * 0.5 > 0;
  answer.kind = JSON.stringify(values) === '[[12,15],[12,15]]' && isOurs ? 'right' : 'wrong';
  answer.values = values;
  answer.runsOn = f.graphs()[0]?.runsOn;
  answer.origin = f.graphs()[0]?.origin;
} catch (error) {
  answer.kind = 'error';
  answer.name = error.name;
  answer.code = error.code;
  answer.message = error.message;
}
lastCall = performance.now();
queued = queuedMilliseconds();
process.on('exit', () => {
  // But for what other programs made it wait.
  const ended = performance.now() - (queuedMilliseconds() - queued);
  const report = { ...answer, warnings, callMs: lastCall - started, exitMs: ended - lastCall };
  process.stdout.write(`${JSON.stringify(report)}\n`);
});
