// `npm run test:gpu`: the device ring. First the kernels of every strategy and kernels written by hand, on the device and in the
// emulation, bit for bit; then the golden cases on the device, where they are at hand.
//
//   node tests/gpu/run.mjs [--golden DIR] [--sample N]
//
// Exit status: 0 all passed, 1 something failed, 3 there is no device or no toolkit here (the reason is printed).
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import {
  compileCudaGraphs,
  compileGraphs,
  defaultSession,
  emulatedCudaBackend,
  openDevices,
  reset,
} from '@tsinductor/compiler';
import { trace } from '@tsinductor/tensor/internal';
import { decompose } from '@tsinductor/graph';
import { cases } from './cases.mjs';
import { launches } from './launches.mjs';

const noDevice = 3;
const { values: options } = parseArgs({ options: { golden: { type: 'string' }, sample: { type: 'string' } } });

/** What is missing for this ring; undefined where nothing is. */
function missing() {
  try {
    const session = defaultSession();
    const driver = openDevices().driver();
    if (driver.deviceCount === 0) return 'the CUDA driver shows no device';
    session.builder.requireToolkit();
    return undefined;
  } catch (error) {
    if (error?.code === undefined) throw error;
    return `${error.code}: ${error.message}`;
  }
}

const bytesOf = (tensor) => {
  const elements = tensor.contiguous().toTypedArray();
  return Buffer.from(elements.buffer, elements.byteOffset, elements.byteLength);
};

/** The kernels of all cases on the device and in the emulation; gives how many differ. */
async function compareKernels() {
  const all = cases();
  const graphs = all.map(({ run, inputs }) => decompose(trace(run, inputs).graph));
  const emulated = await compileGraphs(graphs, defaultSession(), emulatedCudaBackend('sm_80'));
  const onDevice = await compileCudaGraphs(graphs);
  let failed = 0;
  all.forEach(({ name, inputs }, position) => {
    const why = difference([emulated[position], onDevice[position]], inputs);
    if (why === undefined) return;
    failed += 1;
    console.log(`${name}: ${why}`);
  });
  console.log(`kernels: ${all.length - failed} as in the emulation, ${failed} not`);
  return failed;
}

function difference(compiled, inputs) {
  const [failure] = compiled.filter(({ kind }) => kind === 'failed');
  if (failure !== undefined) return failure.error.message;
  try {
    const [expected, found] = compiled.map(({ executable }) => executable.run(inputs).map(bytesOf));
    const output = expected.findIndex((bytes, index) => !bytes.equals(found[index]));
    return output < 0 ? undefined : `output ${output} has other bits than the emulation's`;
  } catch (error) {
    return error.message;
  }
}

/** The arguments with each tensor replaced by `place` of it. */
const placed = (args, place) =>
  Object.fromEntries(
    Object.entries(args).map(([name, value]) => [name, typeof value === 'number' ? value : place(value)]),
  );

/** Whether two tensors have the same bits, or differ by at most the part `within` of the largest element. */
function areAlike(expected, found, within) {
  if (within === undefined) return bytesOf(expected).equals(bytesOf(found));
  const most = expected.sub(found).abs().max().item();
  return most <= within * expected.abs().max().item();
}

/** What hand-written kernels leave in their tensors on the device and in the emulation; gives how many differ. */
function compareLaunches() {
  const all = launches();
  let failed = 0;
  for (const { name, kernel, grid, args, options = {}, within } of all) {
    const [emulated, onDevice] = [placed(args, (tensor) => tensor.clone()), placed(args, (tensor) => tensor.cuda())];
    try {
      kernel.launch(grid, emulated, { ...options, backend: 'cuda-emulated' });
      kernel.launch(grid, onDevice, options);
      const other = Object.keys(args).find(
        (key) => typeof args[key] !== 'number' && !areAlike(emulated[key], onDevice[key].cpu(), within),
      );
      if (other === undefined) continue;
      console.log(`${name}: ${other} is not what the emulation leaves`);
    } catch (error) {
      console.log(`${name}: ${error.message}`);
    }
    failed += 1;
  }
  console.log(`hand-written kernels: ${all.length - failed} as in the emulation, ${failed} not`);
  return failed;
}

const reason = missing();
if (reason !== undefined) {
  console.log(`test:gpu was not run: ${reason}`);
  process.exit(noDevice);
}
let failed = (await compareKernels()) + compareLaunches() > 0;
reset();
const golden = options.golden ?? fileURLToPath(new URL('../../golden', import.meta.url));
if (existsSync(golden)) {
  const runner = fileURLToPath(new URL('../conformance/run.mjs', import.meta.url));
  const sample = options.sample === undefined ? [] : ['--sample', options.sample];
  const given = ['--backend', 'cuda', '--golden', golden, '--kind', 'forward', ...sample];
  failed = spawnSync(process.execPath, [runner, ...given], { stdio: 'inherit' }).status !== 0 || failed;
} else {
  console.log(`the golden cases were not run: ${golden} is not there; name their directory with --golden`);
}
process.exitCode = failed ? 1 : 0;
