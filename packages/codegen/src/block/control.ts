// The walk over a Block IR program that every binding makes: node by node, loops and branches as statements. In: a region, and what
// the target does at a place (`BlockWalk`). Out: statements, in the scope's writer; results of loops and branches are variables where
// they are scalars, and in memory of the target's where they have axes.
//
// Invariant: when a node is bound, every tile that stands before it has a home.
import { at } from '@tsinductor/base';
import { int, isElementOp } from '@tsinductor/ir';
import type {
  ElementOp,
  ForNode,
  IfNode,
  Index,
  Region,
  TileId,
  TileNode,
  TileOp,
  Value,
  WhileNode,
} from '@tsinductor/ir';
import { bindAssertion } from './bind-assertion.ts';
import { scalarIndex } from './block-names.ts';
import { apply, scalarOfIndex, valueIndex, zeroOf } from './block-values.ts';
import type { BlockWalk, CountedLoop } from './block-walk.ts';
import { advanceCarried, beginCarried, bindCarried, readVariable } from './carried.ts';
import { turnsOf } from './statements.ts';
import { scalarTileIndex } from './tile-index.ts';

const wide = { dtype: 'i64', lanes: 1 } as const;

export function bindRegion<Place>(region: Region, walk: BlockWalk<Place>): void {
  region.nodes.forEach((node, order) => {
    walk.before?.(region, order);
    bindNode(node, walk);
  });
}

function bindNode<Place>(node: TileNode, walk: BlockWalk<Place>): void {
  switch (node.kind) {
    case 'for':
      bindFor(node, walk);
      break;
    case 'while':
      bindWhile(node, walk);
      break;
    case 'if':
      bindIf(node, walk);
      break;
    case 'reduce':
    case 'scan':
      walk.fold(node);
      break;
    case 'op':
      if (isElementOp(node)) walk.element(node);
      else bindEffect(node, walk);
      break;
  }
}

/** What reads or writes memory, or meets others. */
function bindEffect<Place>(node: Exclude<TileOp, ElementOp>, walk: BlockWalk<Place>): void {
  switch (node.op) {
    case 'load':
      walk.load(node);
      break;
    case 'store':
      walk.store(node);
      break;
    case 'atomic':
    case 'atomicCas':
      walk.atomic(node);
      break;
    case 'dot':
      walk.dot(node);
      break;
    case 'print':
      walk.print(node);
      break;
    case 'assert':
      bindAssertion(node, walk.scalar(at(node.args, 0)), walk.scope);
      break;
    case 'barrier':
      walk.barrier();
      break;
    case 'assume':
      break;
  }
}

function bindFor<Place>(node: ForNode, walk: BlockWalk<Place>): void {
  const { scope } = walk;
  const carried = beginCarried(node, walk);
  const bound = (id: TileId): Index => scalarTileIndex(id, scope) ?? valueIndex(scope.name(walk.scalar(id), 'bound'));
  const [from, to, step] = [bound(node.from), bound(node.to), bound(node.step)];
  const iterate = (index: Index): void => {
    const { id, dtype } = node.induction;
    scope.learn(id, { kind: 'scalar', value: scalarOfIndex(index, dtype), index });
    bindCarried(carried, node.carried, walk);
    bindRegion(node.body, walk);
    advanceCarried(carried, node.body.yields, walk);
  };
  if (step.kind === 'int' && step.value > 0) {
    const moved = carried.flatMap((item) => (item.kind === 'moved' ? [item] : []));
    const loop: CountedLoop = { node, from, to, step: step.value, moved, iterate };
    if (walk.countUp?.(loop) !== true) countUp(loop, walk);
  } else countTurns({ node, from, to, step, iterate }, walk);
  bindCarried(carried, node.results, walk);
}

function countUp<Place>({ node, from, to, step, iterate }: CountedLoop, walk: BlockWalk<Place>): void {
  const { writer } = walk.scope;
  const name = writer.fresh(walk.scope.label(node.induction.id, 'k'));
  const body = walk.loop([name], [node.body], () => {
    iterate(scalarIndex(name));
  });
  writer.emit({ kind: 'for', name, from, to, step, body });
}

/** A step that is negative, or not known: iterations are counted, and the induction follows from the count. */
function countTurns<Place>(
  { node, from, to, step, iterate }: Omit<CountedLoop, 'step' | 'moved'> & { readonly step: Index },
  walk: BlockWalk<Place>,
): void {
  const { scope } = walk;
  const named = (index: Index, base: string): Value => scope.name(scalarOfIndex(index, 'i64'), base);
  const [first, last, distance] = [named(from, 'first'), named(to, 'last'), named(step, 'distance')];
  const turns = turnsOf({ from: first, to: last, step: distance }, scope);
  const name = scope.writer.fresh('turn');
  const body = walk.loop([name], [node.body], () => {
    const moved = apply('mul', [scalarOfIndex(scalarIndex(name), 'i64'), distance], 'i64');
    const induction = scope.name(apply('add', [first, moved], 'i64'), scope.label(node.induction.id, 'k'));
    iterate(valueIndex(induction));
  });
  scope.writer.emit({ kind: 'for', name, from: int(0), to: turns, step: 1, body });
}

function bindWhile<Place>(node: WhileNode, walk: BlockWalk<Place>): void {
  const { scope } = walk;
  const carried = beginCarried(node, walk);
  const test = (): Value => {
    bindCarried(carried, node.carried, walk);
    bindRegion(node.test, walk);
    return { kind: 'cast', value: walk.scalar(at(node.test.yields, 0)), type: wide };
  };
  const go = scope.writer.fresh('go');
  scope.writer.emit({ kind: 'var', name: go, value: test() });
  const body = walk.loop([], [node.test, node.body], () => {
    bindCarried(carried, node.carried, walk);
    bindRegion(node.body, walk);
    advanceCarried(carried, node.body.yields, walk);
    scope.writer.emit({ kind: 'set', name: go, value: scope.name(test(), 'again') });
  });
  scope.writer.emit({ kind: 'while', test: { kind: 'notEqual', left: scalarIndex(go), right: int(0) }, body });
  bindCarried(carried, node.results, walk);
}

function bindIf<Place>(node: IfNode, walk: BlockWalk<Place>): void {
  const { scope, places } = walk;
  const flag = valueIndex(scope.name({ kind: 'cast', value: walk.scalar(node.test), type: wide }, 'flag'));
  const targets = node.results.map((tile) => {
    if (tile.shape.length > 0) return { tile, place: places.reserve(tile) };
    const variable = scope.writer.fresh(scope.label(tile.id, 'chosen'));
    scope.writer.emit({ kind: 'var', name: variable, value: zeroOf(tile.dtype) });
    return { tile, variable };
  });
  const side = (region: Region) =>
    walk.branch(() => {
      bindRegion(region, walk);
      targets.forEach((target, slot) => {
        const from = at(region.yields, slot);
        if ('variable' in target) scope.writer.emit({ kind: 'set', name: target.variable, value: walk.scalar(from) });
        else places.fill(target.tile, target.place, from);
      });
    });
  const then = side(node.then);
  const isEmpty = node.otherwise.nodes.length === 0 && node.results.length === 0;
  const rest = isEmpty ? {} : { otherwise: side(node.otherwise) };
  scope.writer.emit({ kind: 'if', test: { kind: 'notEqual', left: flag, right: int(0) }, then, ...rest });
  for (const target of targets) {
    if ('variable' in target) readVariable(target.tile, target.variable, scope);
    else places.hold(target.tile, target.place);
  }
}
