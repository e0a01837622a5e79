// In place of nvcc, for tests of everything around it on a machine without a GPU. In: the commands that the compiler gives
// nvcc. Out: "PTX" that is the source itself, and "machine code" that is a library in which every kernel runs on the host's
// emulation of CUDA, launched as the emulated driver (cuda-driver.cc) does.
//
// node nvcc.mjs HEADER [--version | -ptx ... -o OUT IN | -cubin ... -o OUT IN]
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';

const [header, ...given] = process.argv.slice(2);
const kernelPattern = /extern "C" __global__ void (?:__launch_bounds__\(\d+\) )?(\w+)\(([^)]*)\)/g;

/** What the driver calls to launch a kernel. */
function launcherOf(name, parameters) {
  const kinds = parameters.map((text) => (!text.includes('*') ? 's' : /^const\b/.test(text) ? 'r' : 'w'));
  const memory = kinds.flatMap((kind, slot) => (kind === 's' ? [] : [slot]));
  const sizes = kinds.flatMap((kind, slot) => (kind === 's' ? [slot] : []));
  const typeOf = (text) => text.replace(/(__restrict__ )?\w+$/, '').trim();
  const call = parameters.map((text, slot) =>
    kinds[slot] === 's'
      ? `(${typeOf(text)})given[${sizes.indexOf(slot)}]`
      : `(${typeOf(text)})own[${memory.indexOf(slot)}]`,
  );
  const items = memory.map(
    (slot) => `{"parameter ${slot}", *(char **)values[${slot}], room[${slot}], ${kinds[slot] === 'w'}}`,
  );
  return [
    `extern "C" const char emulated_kinds_${name}[] = "${kinds.join('')}";`,
    `extern "C" int emulated_run_${name}(void **values, long blocks, unsigned threads, unsigned shared, const size_t *room) {`,
    `  const emulation::Argument arguments[] = {${[...items, '{}'].join(', ')}};`,
    `  const long given[] = {${[...sizes.map((slot) => `*(long *)values[${slot}]`), '0'].join(', ')}};`,
    `  const auto body = [](char *const *own, const long *given, int *) { ${name}(${call.join(', ')}); };`,
    '  int status = 0;',
    `  return emulation::launch({"${name}", blocks, threads, shared, true, body, arguments, ${memory.length}}, given, &status) ? 0 : 1;`,
    '}',
  ].join('\n');
}

function unitOf(source) {
  const launchers = [...source.matchAll(kernelPattern)].map(([, name, list]) =>
    launcherOf(
      name,
      list
        .split(',')
        .map((text) => text.trim())
        .filter((text) => text !== ''),
    ),
  );
  const message = 'extern "C" const char *emulated_message() { return emulation::message(); }';
  return [readFileSync(header, 'utf8'), source, ...launchers, message, ''].join('\n');
}

const flags = [
  '-O0',
  '-std=c++17',
  '-shared',
  '-fPIC',
  '-fno-math-errno',
  '-ffp-contract=off',
  '-fwrapv',
  '-fno-strict-aliasing',
  '-w',
];

if (given.includes('--version')) {
  console.log('Cuda compilation tools, release 13.0, V13.0.0\nBuild emulated');
} else {
  const output = given[given.indexOf('-o') + 1];
  const source = readFileSync(given.at(-1), 'utf8');
  if (given.includes('-ptx')) writeFileSync(output, source);
  else {
    const { status, stderr } = spawnSync('c++', [...flags, '-x', 'c++', '-', '-o', output], { input: unitOf(source) });
    process.stderr.write(stderr ?? '');
    process.exitCode = status ?? 1;
  }
}
