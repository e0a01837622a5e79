// The laws of Block IR, checked: ids, scopes, operand types, regions. A broken law is an InternalError that names the node.
import { at, dtypeInfo, InternalError, isIdentifier } from '@tsinductor/base';
import { lawBroken } from '../errors.ts';
import type { BlockProgram, FoldNode, Region, Tile, TileId, TileNode, TileOp, TileOpName, TileType } from './block.ts';
import { printTileType } from './print-block.ts';
import { sameShape, tileOps } from './tile-ops.ts';
import type { Inference } from './tile-ops.ts';
import { tileOperands } from './traverse-block.ts';

interface Scope {
  readonly program: BlockProgram;
  readonly visible: ReadonlyMap<TileId, Tile>;
  /** Every id of the program that was defined so far. */
  readonly used: Set<TileId>;
}

/** Throws InternalError IR_INVALID naming node and law. */
export function verifyBlockProgram(program: BlockProgram): void {
  const fail = (law: string): never => {
    throw lawBroken(`block program ${program.name}`, law);
  };
  if (!isIdentifier(program.name)) fail('its name is not an identifier');
  const names = new Set<string>();
  for (const { name, divisor } of program.params) {
    if (!isIdentifier(name) || names.has(name)) fail(`the parameter ${name} is not a name of its own`);
    if (!Number.isInteger(divisor) || divisor < 1) fail(`the divisor of ${name} is not a positive integer`);
    names.add(name);
  }
  verifyRegion(program.body, [], { program, visible: new Map(), used: new Set() });
  if (program.body.yields.length > 0) fail('a program yields nothing');
}

/** Verifies a region; returns the types that it yields. */
function verifyRegion(region: Region, defines: readonly Tile[], scope: Scope): readonly TileType[] {
  const visible = new Map(scope.visible);
  const inner: Scope = { ...scope, visible };
  for (const tile of defines) define(tile, visible, scope);
  for (const node of region.nodes) {
    verifyNode(node, inner);
    for (const tile of node.results) define(tile, visible, scope);
  }
  return region.yields.map((id) => visible.get(id) ?? invisible(id, scope));
}

function invisible(id: TileId, { program }: Scope): never {
  throw lawBroken(`block program ${program.name}`, `%${String(id)} is used where it is not defined`);
}

function define(tile: Tile, visible: Map<TileId, Tile>, { program, used }: Scope): void {
  const fail = (law: string): never => {
    throw lawBroken(`block program ${program.name}: %${String(tile.id)}`, law);
  };
  if (used.has(tile.id)) fail('defined twice');
  if (tile.shape.some((extent) => !Number.isInteger(extent) || extent < 1)) fail('an extent is not a positive integer');
  if (tile.name !== undefined && !isIdentifier(tile.name)) fail('its name is not an identifier');
  used.add(tile.id);
  visible.set(tile.id, tile);
}

function verifyNode(node: TileNode, scope: Scope): void {
  const args = tileOperands(node).map((id): TileType => scope.visible.get(id) ?? invisible(id, scope));
  const check = (found: readonly TileType[], expected: readonly TileType[], what: string): void => {
    const print = (types: readonly TileType[]): string => types.map(printTileType).join(', ');
    if (found.length === expected.length && found.every((type, slot) => sameType(type, at(expected, slot)))) return;
    throw nodeBroken(node, `${what} ${print(found)}, not ${print(expected)}`, scope);
  };
  switch (node.kind) {
    case 'op':
      check(node.results, inferOp(node, args, scope), 'gives');
      break;
    case 'for': {
      if (node.induction.dtype !== 'i32' && node.induction.dtype !== 'i64')
        throw nodeBroken(node, 'an induction is i32 or i64', scope);
      const bound = { dtype: node.induction.dtype, shape: [] };
      check(args.slice(0, 3), [bound, bound, bound], 'its bounds are');
      check(args.slice(3), node.carried, 'starts with');
      check(node.results, node.carried, 'gives');
      check(verifyRegion(node.body, [node.induction, ...node.carried], scope), node.carried, 'yields');
      break;
    }
    case 'while': {
      check(args, node.carried, 'starts with');
      check(node.results, node.carried, 'gives');
      check(verifyRegion(node.test, node.carried, scope), [{ dtype: 'bool', shape: [] }], 'tests');
      const visible = new Map([...scope.visible, ...node.carried.map((tile): [TileId, Tile] => [tile.id, tile])]);
      check(verifyRegion(node.body, [], { ...scope, visible }), node.carried, 'yields');
      break;
    }
    case 'if':
      check(args, [{ dtype: 'bool', shape: [] }], 'tests');
      check(verifyRegion(node.then, [], scope), node.results, 'yields');
      check(verifyRegion(node.otherwise, [], scope), node.results, 'otherwise yields');
      break;
    case 'reduce':
    case 'scan':
      verifyFold(node, args, { scope, check });
      break;
  }
}

interface FoldCheck {
  readonly scope: Scope;
  readonly check: (found: readonly TileType[], expected: readonly TileType[], what: string) => void;
}

function verifyFold(node: FoldNode, args: readonly TileType[], { scope, check }: FoldCheck): void {
  const { shape } = at(args, 0);
  if (!args.every((arg) => sameShape(arg.shape, shape))) throw nodeBroken(node, 'its operands have one shape', scope);
  if (node.axis < 0 || node.axis >= shape.length) throw nodeBroken(node, 'its axis is not one of its operands', scope);
  const elements = args.map(({ dtype }): TileType => ({ dtype, shape: [] }));
  check(node.left, elements, 'its left side is');
  check(node.right, elements, 'its right side is');
  const result = node.kind === 'scan' ? shape : shape.filter((_, axis) => axis !== node.axis);
  check(
    node.results,
    args.map(({ dtype }) => ({ dtype, shape: result })),
    'gives',
  );
  check(
    verifyRegion(node.combine, [...node.left, ...node.right], { ...scope, visible: new Map() }),
    elements,
    'yields',
  );
}

function inferOp(node: TileOp, args: readonly TileType[], scope: Scope): readonly TileType[] {
  const entry = tileOps[node.op];
  const [least, most] = entry.operands;
  if (args.length < least || args.length > most) throw nodeBroken(node, 'it has the wrong number of operands', scope);
  try {
    const infer = entry.infer as (given: Inference<(typeof node)['attrs']>) => TileType | undefined;
    const type = infer({ args, attrs: node.attrs, params: scope.program.params });
    return type === undefined ? [] : [type];
  } catch (error) {
    if (error instanceof InternalError) throw nodeBroken(node, error.message, scope);
    throw error;
  }
}

const sameType = (left: TileType, right: TileType): boolean =>
  left.dtype === right.dtype && sameShape(left.shape, right.shape) && left.dtype in dtypeInfo;

function nodeBroken(node: TileNode, law: string, { program }: Scope): InternalError {
  const what: TileOpName | TileNode['kind'] = node.kind === 'op' ? node.op : node.kind;
  const { file, line } = node.origin;
  return lawBroken(`block program ${program.name}: ${what} of ${file}:${String(line)}`, law);
}
