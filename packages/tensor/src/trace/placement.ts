// Where a graph runs, and where its outputs are to be. In: the memories that it reads and makes. Out: its one device: what
// of it is on the CPU goes there for the call, and comes back.
import type { Device } from '../device.ts';
import { graphDevices } from '../errors.ts';
import type { Memory } from './traced-memory.ts';

export interface Placement {
  /** `cpu` where nothing is elsewhere. */
  readonly device: Device;
  /** Of each output. */
  readonly outputs: readonly Device[];
}

/** Throws UserError GRAPH_DEVICES where there is more than one device beside the CPU. */
export function placementOf(memories: readonly Memory[], outputs: readonly Memory[]): Placement {
  const others = new Set(memories.map(({ device }) => device).filter((device) => device !== 'cpu'));
  if (others.size > 1) throw graphDevices([...others].sort());
  const [device = 'cpu'] = others;
  return { device, outputs: outputs.map((memory) => memory.device) };
}
