// Stands for a worker process that a program kills: one with a call of `exp` in it, and one that it generates itself.
const generated = { steps: [{ op: 'exp' }] };
process.on('message', ({ jobs }) => {
  const verdict = { status: 'passed', sizes: 1, exact: true, kernels: 0, elements: 0, free: 0 };
  const die = () => process.kill(process.pid, 'SIGSEGV');
  jobs.forEach((job, position) => {
    if (job.steps === undefined) process.send({ kind: 'drawn', position, program: generated }, die);
    else if (job.steps.some(({ op }) => op === 'exp')) die();
    else process.send({ kind: 'finished', position, verdict });
  });
  if (jobs.every(({ steps }) => steps !== undefined))
    process.send({ kind: 'done', drawn: { calls: new Map(), refusals: new Map() } });
});
process.on('disconnect', () => process.exit());
