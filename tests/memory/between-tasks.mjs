// Memory without native finalizers: what nobody holds is found by a registry of the language, which tells between tasks. Argument: whether
// other tensors are disposed between those that are dropped. Prints the counts of storages before, then, and once it came back.
import { setTimeout } from 'node:timers/promises';
import { createStoragePool } from '@tsinductor/runtime';
import { memoryStats, tensor } from '@tsinductor/tensor';
import { setStorageProvider } from '@tsinductor/tensor/internal';

const disposesOthers = process.argv[2] === 'beside-disposed';
setStorageProvider({ pool: createStoragePool(undefined) });
const count = () => memoryStats().storages;

const before = count();
(() => {
  for (let made = 0; made < 100; made += 1) {
    if (disposesOthers) tensor(new Float32Array(1000)).dispose();
    tensor(new Float32Array(1000)).at(0);
  }
})();
const dropped = count() - before;
let rounds = 0;
for (; count() > before && rounds < 1000; rounds += 1) {
  globalThis.gc();
  await setTimeout(1);
}
process.stdout.write(JSON.stringify({ dropped, left: count() - before, inUse: memoryStats().pool?.inUse }));
