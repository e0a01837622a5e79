// What `tsinductor doctor` says of CUDA: the driver, the devices that it shows, the toolkit. Nothing of it is needed for
// compiled code on the CPU, so what is missing is a note.
import { delimiter } from 'node:path';
import type { Config } from '@tsinductor/config';
import { buildBridge, CudaDriver, deviceFacts, findCudaToolkit, openBridge } from '@tsinductor/runtime';
import type { DeviceFacts, Toolchain } from '@tsinductor/runtime';
import { messageOf } from '../errors.ts';
import { formatBytes, plural } from '../table.ts';
import type { Finding } from './doctor.ts';

/** What opening the driver takes: its calls go through the native bridge. */
interface CudaSurroundings {
  readonly toolchain: Toolchain | undefined;
  readonly directory: string | undefined;
}

export const cudaFindings = (config: Config, surroundings: CudaSurroundings): readonly Finding[] => [
  ...driverFindings(config, surroundings),
  toolkitFinding(config),
];

function driverFindings({ cuda }: Config, { toolchain, directory }: CudaSurroundings): readonly Finding[] {
  const subject = 'CUDA driver';
  if (toolchain === undefined || directory === undefined) {
    return [{ subject, verdict: 'note', detail: 'not looked for: its calls need the native bridge' }];
  }
  try {
    const bridge = openBridge({ toolchain, directory });
    const addon = buildBridge({ toolchain, directory });
    const driver = CudaDriver.open({ bridge, addon, library: cuda.driver });
    const count = driver.deviceCount;
    return [
      { subject, verdict: 'ok', detail: `for CUDA ${driver.version}, ${plural(count, 'device')}` },
      ...Array.from({ length: count }, (_, ordinal) => deviceFinding(ordinal, deviceFacts(driver, ordinal))),
    ];
  } catch (error) {
    return [{ subject, verdict: 'note', detail: messageOf(error) }];
  }
}

const deviceFinding = (
  ordinal: number,
  { name, architecture, multiprocessors, memoryBytes }: DeviceFacts,
): Finding => ({
  subject: `cuda:${String(ordinal)}`,
  verdict: 'ok',
  detail: `${name}, ${architecture}, ${plural(multiprocessors, 'multiprocessor')}, ${formatBytes(memoryBytes)}`,
});

function toolkitFinding({ cuda, cpp }: Config): Finding {
  const subject = 'CUDA toolkit';
  const { toolkit, searched } = findCudaToolkit({
    configured: cuda.cudaCxx ?? undefined,
    cudaHome: cuda.home ?? undefined,
    cudaPath: cuda.path ?? undefined,
    path: cpp.searchPath,
    installed: cuda.installed.split(delimiter),
  });
  if (toolkit !== undefined) return { subject, verdict: 'ok', detail: `${toolkit.nvcc}: ${toolkit.version}` };
  return {
    subject,
    verdict: 'note',
    detail: `no nvcc; searched ${searched.map(({ place, origin }) => (place.startsWith(origin) ? place : `${place} (${origin})`)).join(', ')}`,
    remedy: 'to run on CUDA devices, install CUDA 12 or newer, or say where it is in CUDA_HOME',
  };
}
