// Kernels that touch elements which are not there, as users write them by mistake: each launch ends in the error that names line,
// program and index, as native code too, and never in a crash, in silence, or in other memory than the kernel's. The trials of a seed run
// in processes of their own, so that one that dies is counted. Kernels that are right run beside them, and must go on.
import { makePlace, runProgram } from './run-program.mjs';

const trialsOfOneProcess = 20;

export async function run({ count: asked, seed, only }) {
  const count = asked ?? 600;
  const failures = [];
  const place = makePlace();
  const totals = { refused: 0, right: 0, unread: 0 };
  for (let from = 0; from < count; from += trialsOfOneProcess) {
    const trials = Math.min(trialsOfOneProcess, count - from);
    const args = [String(seed), String(from), String(trials), only ?? ''];
    const env = { HOME: place.path, TORCHINDUCTOR_CACHE_DIR: place.path };
    const { answer, signal, status, stderr, isLate } = await runProgram('indices.mjs', { env, args }).ended;
    if (answer === undefined) {
      failures.push(`trials from ${from}: ${isLate ? 'no end' : (signal ?? status)} ${stderr.slice(-600)}`);
      continue;
    }
    totals.refused += answer.refused;
    totals.right += answer.right;
    totals.unread += answer.unread;
    failures.push(...answer.failures);
  }
  place.remove();
  return {
    line: `R15 ${totals.refused} wrong launches refused, ${totals.right} right ones run, ${totals.unread} that load less than is written, ${failures.length} others`,
    failures,
  };
}
