// Scans by a team: a chunk of the row at a time, one element a thread. Each thread's state of its own element is merged
// with those of its neighbours in steps of doubling distance, then with those of the warps and chunks before it.
import { at } from '@tsinductor/base';
import type { Frame } from '@tsinductor/codegen';
import { assignVariables, bindAxis, declareVariable, evaluateBody, evaluationAt } from '@tsinductor/codegen';
import { add, int, modulo, warpThreads } from '@tsinductor/ir';
import type { Axis, Condition, Index, LoopNode, Value } from '@tsinductor/ir';
import { clipped, loop, threadOf } from './nest.ts';
import type { Nest } from './nest.ts';
import { declareState, finish, loadShared, mergeStates, shareByWarps, shuffleState, warpOf } from './states.ts';
import type { Carrying, State } from './states.ts';

type Scan = Carrying & { readonly kind: 'scan' };

export const isScannable = (node: LoopNode): node is Scan => node.kind === 'scan';

interface ScanFrame {
  readonly frame: Frame;
  readonly threads: number;
}

export function writeTeamScan(nest: Nest, node: Scan, { frame, threads }: ScanFrame): void {
  const [axis] = node.over;
  const carry = declareState(nest, node, frame);
  loop(
    nest,
    { name: `${axis.name}_piece`, from: int(0), to: axis.extent, step: threads, extent: axis.extent },
    (first) => {
      const element = add(first, threadOf(nest, threads));
      const own = declareState(nest, node, frame);
      atElement(nest, { axis, element }, (value) => {
        const inner = bindAxis(frame, axis.name, value);
        assignVariables(nest.writer, own, evaluateBody(node.step, evaluationAt(nest, inner, own)));
      });
      scanWarp(nest, node, { own, frame, threads });
      scanWarps(nest, node, { own, carry, frame, threads });
      atElement(nest, { axis, element }, (value) => {
        finish(nest, { node, state: own }, { frame: bindAxis(frame, axis.name, value), by: 'thread' });
      });
    },
  );
}

/** Runs `body` where the element exists: a loop of at most one iteration. */
function atElement(nest: Nest, { axis, element }: { axis: Axis; element: Index }, body: (value: Index) => void): void {
  const to = clipped(add(element, int(1)), axis);
  loop(nest, { name: axis.name, from: element, to, extent: axis.extent, guards: true }, body);
}

interface Scanning {
  readonly own: State;
  readonly frame: Frame;
  readonly threads: number;
}

function scanWarp(nest: Nest, node: Scan, { own, frame, threads }: Scanning): void {
  const lane = modulo(threadOf(nest, threads), int(warpThreads));
  for (let distance = 1; distance < warpThreads; distance *= 2) {
    const left = shuffleState(nest, own, { mode: 'up', distance: int(distance) });
    onlyIf(nest, { kind: 'less', left: int(distance - 1), right: lane }, () => {
      assignVariables(nest.writer, own, mergeStates(nest, node, { left, right: own, frame }));
    });
  }
}

function onlyIf(nest: Nest, test: Condition, body: () => void): void {
  const then = nest.writer.sealedBlock([], body);
  nest.writer.emit({ kind: 'if', test, then });
}

/** own := carry, the warps before, own; carry := carry and all warps. */
function scanWarps(nest: Nest, node: Scan, { own, carry, frame, threads }: Scanning & { readonly carry: State }): void {
  const warps = threads / warpThreads;
  const totals = shareByWarps(nest, own, { threads, lane: warpThreads - 1 });
  const prefix = carry.map((value): Value => declareVariable(nest.writer, `${nameFor(nest, node)}_before`, value));
  loop(nest, { name: 'warp', from: int(0), to: int(warps), extent: int(warps) }, (warp) => {
    onlyIf(nest, { kind: 'equal', left: warp, right: warpOf(nest, threads) }, () => {
      assignVariables(nest.writer, prefix, carry);
    });
    const right = loadShared(nest, totals, { state: carry, place: warp });
    assignVariables(nest.writer, carry, mergeStates(nest, node, { left: carry, right, frame }));
  });
  assignVariables(nest.writer, own, mergeStates(nest, node, { left: prefix, right: own, frame }));
  nest.writer.emit({ kind: 'barrier', scope: 'block' });
}

const nameFor = (nest: Nest, node: Scan): string => nest.memory.decl(at(node.outs, 0)).name;
