// Which axis of a nest becomes the lanes of vectors, and how many: an estimate of what each candidate costs per point,
// from the strides of all accesses along it.
import { at, dtypeInfo } from '@tsinductor/base';
import {
  fitsI32,
  hasIndirect,
  isNarrow,
  nextPowerOfTwo,
  staticValue,
  strideAlong,
  typicalValue,
} from '@tsinductor/codegen';
import type { Positions } from '@tsinductor/codegen';
import { coefficientOf } from '@tsinductor/ir';
import type { Axis, Body, Index, LoopBand, LoopNode, Scalar, ScalarId } from '@tsinductor/ir';
import { compileOp, pointwise } from '@tsinductor/ops';
import { isSpread, lanesFor } from '../../machine/isa.ts';
import type { CpuTarget } from '../../machine/target.ts';
import { narrowed } from './narrow-scan.ts';
import type { Planning } from './planning.ts';
import { costOf, pointBodies, pointWork, varyingNodes } from './work.ts';
import type { PointWork } from './work.ts';

export interface LaneChoice {
  /** Undefined: scalar code. */
  readonly axis: Axis | undefined;
  readonly lanes: number;
  /** Estimated cycles per point of the nest. */
  readonly cycles: number;
}

const positionsOf = ({ positions = 'proven' }: CpuTarget): Positions => positions;

/** The nodes of `body` that are used other than as positions in comparisons and casts. */
function wideUses(body: Body, { target }: LaneMachine): ReadonlySet<ScalarId> {
  const wide = new Set<ScalarId>(body.results);
  for (const node of body.nodes) {
    if (node.kind === 'apply') {
      const narrow =
        pointwise[node.op].rule === 'compare' && node.args.every((id) => isNarrow(body, id, positionsOf(target)));
      if (!narrow) for (const id of node.args) wide.add(id);
    } else if (node.kind === 'check' || node.kind === 'bitcast') wide.add(node.value);
    else if (node.kind === 'load') for (const id of [node.mask, node.other]) if (id !== undefined) wide.add(id);
  }
  return wide;
}

/** What lanes are chosen for. */
type LaneMachine = Pick<Planning, 'target' | 'choices' | 'wideSteps'>;

/** The widest element, in bytes, that the lanes along `axis` hold: 4 or 8. */
export function laneBytes(nodes: readonly LoopNode[], axis: string, machine: LaneMachine): number {
  for (const whole of nodes) {
    const node = (whole.kind === 'scan' ? narrowed(whole) : undefined) ?? whole;
    if ((node.kind === 'reduce' || node.kind === 'scan') && node.state.some((dtype) => dtypeInfo[dtype].bytes === 8))
      return 8;
    for (const body of pointBodies(node)) if (hasWideLanes(body, axis, machine)) return 8;
  }
  return 4;
}

/** By op and dtype, what `hasWideSteps` found: the kernels of a graph have many of a kind. */
export type WideSteps = Map<string, boolean>;

function hasWideLanes(body: Body, axis: string, machine: LaneMachine): boolean {
  const varying = varyingNodes(body, axis);
  const wide = wideUses(body, machine);
  return body.nodes.some((node, id) => {
    if (varying[id] !== true) return false;
    if (
      node.kind === 'load' &&
      strideAlong(node.at, axis) === undefined &&
      !(fitsI32(node.at, positionsOf(machine.target)) && !hasIndirect(node.at))
    )
      return true;
    if (node.kind === 'apply' && hasWideSteps(body, node, machine.wideSteps)) return true;
    return dtypeInfo[node.dtype].bytes === 8 && (node.kind !== 'index' || wide.has(id));
  });
}

/** Whether the definition of an op goes through a dtype of 8 bytes, ops that are seldom computed left aside. */
function hasWideSteps(body: Body, node: Scalar & { readonly kind: 'apply' }, steps: WideSteps): boolean {
  const entry = pointwise[node.op];
  const { dtype } = at(body.nodes, at(node.args, entry.rule === 'select' ? 1 : 0));
  const key = `${node.op} ${dtype}`;
  const known = steps.get(key);
  if (known !== undefined) return known;
  const isWide =
    entry.decompose?.(dtype) !== undefined &&
    compileOp(entry, dtype, { keepGuarded: true }).instructions.some(
      (instruction) => dtypeInfo[instruction.dtype].bytes === 8,
    );
  steps.set(key, isWide);
  return isWide;
}

/** Lanes for `axis`: a full vector, or the next power of two where the axis is shorter than that. */
export function lanesAlong(axis: Axis, nodes: readonly LoopNode[], machine: LaneMachine): number {
  const full = lanesFor(machine.target.isa, laneBytes(nodes, axis.name, machine));
  const extent = staticValue(axis.extent);
  return extent === undefined ? full : Math.min(full, nextPowerOfTwo(extent));
}

interface Candidates {
  /** Loops along which accesses may go through transposed tiles. */
  readonly bands: readonly LoopBand[];
  readonly work: PointWork;
  readonly machine: LaneMachine;
}

/** What lanes along a band's axis cost per point, in cycles. */
export const cyclesAlong = (band: LoopBand, candidates: Candidates): number => costAlong(band, candidates).cycles;

/** How many lanes a band's axis gives, and what they cost per point. */
function costAlong(band: LoopBand, { bands, work, machine }: Candidates): Omit<LaneChoice, 'axis'> {
  const { nodes } = work;
  const lanes = lanesAlong(band.axis, nodes, machine);
  const extent = Math.max(1, typicalValue(band.axis.extent));
  const used = extent / (Math.ceil(extent / lanes) * lanes);
  const scans = nodes.some(({ kind }) => kind === 'scan');
  const isTransposed = (index: Index): boolean =>
    bands.some((other) => other !== band && canTranspose({ band, other, index }, { nodes, lanes }));
  const { accessCost } = machine.choices;
  const accesses = work.accesses.map(({ at: index, load }) => {
    const step = strideAlong(index, band.axis.name);
    if (step === 1) return accessCost.contiguous;
    if (step === 0) return load === undefined ? lanes : accessCost.uniform;
    if (isTransposed(index)) return scans ? accessCost.transposedScan : accessCost.transposed;
    if (load === undefined) return lanes * accessCost.stridedStore;
    const { bytes } = dtypeInfo[load];
    return isSpread(machine.target.isa, { lanes, bytes }, step) ? 2 * Math.abs(step ?? 0) : lanes;
  });
  const cycles = (work.operations + accesses.reduce((left, right) => left + right, 0)) / (lanes * used);
  const merges = nodes.filter((node) => node.kind === 'reduce').length * Math.log2(lanes) * 4;
  return { lanes, cycles: cycles + (band.role === 'reduction' ? merges / extent : 0) };
}

/** What scans along the axis of their lanes cost more per point, in cycles; Infinity where they do not lie side by side. */
function scanCycles({ nodes, accesses }: PointWork, axis: Axis, lanes: number): number {
  const isRow = accesses.every((access) => [0, 1].includes(strideAlong(access.at, axis.name) ?? Number.NaN));
  if (!isRow || lanes < 4) return Infinity;
  const joins = nodes.reduce(
    (sum, node) => sum + (node.kind === 'scan' ? joinCost(node.merge, node.state.length) : 0),
    0,
  );
  return ((Math.log2(lanes) + 1) * joins) / lanes;
}

/** Operations of one step: to join, and to rearrange the lanes of each state. */
const joinCost = ({ nodes }: Body, states: number): number => nodes.reduce((sum, node) => sum + costOf(node), states);

interface Transposing {
  /** The axis of the lanes, and another along which the access is contiguous. */
  readonly band: LoopBand;
  readonly other: LoopBand;
  readonly index: Index;
}

/** Whether an access that strides along the lanes goes through transposed tiles: see plan/tiles.ts. */
export function canTranspose(
  { band, other, index }: Transposing,
  { nodes, lanes }: { nodes: readonly LoopNode[]; lanes: number },
): boolean {
  if (band.role !== 'parallel' || nodes.some((node) => node.kind !== 'map' && node.kind !== 'scan')) return false;
  if (lanes < 4 || typicalValue(band.axis.extent) < lanes || typicalValue(other.axis.extent) < lanes) return false;
  const far = coefficientOf(index, band.axis);
  return (
    far !== undefined &&
    strideAlong(index, band.axis.name) !== 0 &&
    strideAlong(index, other.axis.name) === 1 &&
    !hasIndirect(index)
  );
}

/** The best of `bands` to vectorise for `nodes`, all of which run below them. */
export function chooseLanes(bands: readonly LoopBand[], nodes: readonly LoopNode[], machine: LaneMachine): LaneChoice {
  const scans = new Set(nodes.flatMap((node) => (node.kind === 'scan' ? node.over.map((axis) => axis.name) : [])));
  const work = pointWork(nodes);
  let best: LaneChoice = { axis: undefined, lanes: 1, cycles: work.operations + work.accesses.length };
  for (const band of bands.toReversed()) {
    if (lanesFor(machine.target.isa, 4) === 1) continue;
    const { lanes, cycles: own } = costAlong(band, { bands, work, machine });
    const cycles = scans.has(band.axis.name) ? own + scanCycles(work, band.axis, lanes) : own;
    if (lanes > 1 && cycles < best.cycles) best = { axis: band.axis, lanes, cycles };
  }
  return best;
}
