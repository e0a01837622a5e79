// Block IR as text: one line a node, with its types, and the user's line at the end of it.
import { Lines } from '@tsinductor/base';
import { dtypeInfo } from '@tsinductor/base';
import { printConstant } from '../print/print-body.ts';
import type { BlockProgram, FoldNode, Region, Tile, TileId, TileNode, TileOp, TileType } from './block.ts';
import { tilesOf } from './traverse-block.ts';

/** `f32[4, 8]`; a scalar is `f32`. */
export const printTileType = ({ dtype, shape }: TileType): string =>
  shape.length === 0 ? dtype : `${dtype}[${shape.join(', ')}]`;

interface Context {
  readonly program: BlockProgram;
  readonly tiles: ReadonlyMap<TileId, Tile>;
  readonly lines: Lines;
}

/** A whole program. */
export function printBlockProgram(program: BlockProgram): string {
  const lines = new Lines();
  const tiles = tilesOf(program.body);
  const params = program.params.map(({ name, kind, dtype, divisor }) => {
    const type = kind === 'buffer' ? `ptr<${dtype}>` : dtype;
    return `${name}: ${type}${divisor > 1 ? ` % ${String(divisor)}` : ''}`;
  });
  const constants = Object.entries(program.constants).map(([name, value]) => `${name} = ${value}`);
  lines.block(`kernel ${program.name}(${[...params, ...constants].join(', ')}) {`, () => {
    printRegion(program.body, { program, tiles, lines });
  });
  return lines.toString();
}

function printRegion(region: Region, context: Context): void {
  for (const node of region.nodes) printNode(node, context);
  if (region.yields.length > 0) context.lines.line(`yield ${printIds(region.yields, context)}`);
}

const printId = (id: TileId, { tiles }: Context): string => {
  const name = tiles.get(id)?.name;
  return name === undefined ? `%${String(id)}` : `%${String(id)}.${name}`;
};
const printIds = (ids: readonly TileId[], context: Context): string => ids.map((id) => printId(id, context)).join(', ');
const declare = (tile: Tile, context: Context): string => `${printId(tile.id, context)}: ${printTileType(tile)}`;
const declareAll = (tiles: readonly Tile[], context: Context): string =>
  tiles.map((tile) => declare(tile, context)).join(', ');

function printNode(node: TileNode, context: Context): void {
  const { lines } = context;
  const results = node.results.length === 0 ? '' : `${declareAll(node.results, context)} = `;
  const where = `  # ${String(node.origin.line)}`;
  const initial = (): string => {
    if (node.kind !== 'for' && node.kind !== 'while') return '';
    const parts = node.carried.map(
      (tile, slot) => `${declare(tile, context)} = ${printId(node.initial[slot] ?? -1, context)}`,
    );
    return parts.length === 0 ? '' : ` carrying ${parts.join(', ')}`;
  };
  switch (node.kind) {
    case 'op':
      lines.line(`${results}${printOp(node, context)}${where}`);
      break;
    case 'reduce':
    case 'scan':
      printFold(node, results, context);
      break;
    case 'for': {
      const bounds = `${printId(node.from, context)} to ${printId(node.to, context)} step ${printId(node.step, context)}`;
      const stages = node.numStages === undefined ? '' : ` stages ${String(node.numStages)}`;
      lines.block(
        `${results}for ${declare(node.induction, context)} from ${bounds}${stages}${initial()} {${where}`,
        () => {
          printRegion(node.body, context);
        },
      );
      break;
    }
    case 'while':
      lines.block(
        `${results}while${initial()} {${where}`,
        () => {
          printRegion(node.test, context);
        },
        '} do {',
      );
      lines.block('', () => {
        printRegion(node.body, context);
      });
      break;
    case 'if':
      printIf(node, results, context);
      break;
  }
}

function printIf(node: TileNode & { readonly kind: 'if' }, results: string, context: Context): void {
  const { lines } = context;
  const open = `${results}if ${printId(node.test, context)} {  # ${String(node.origin.line)}`;
  const hasElse = node.otherwise.nodes.length + node.otherwise.yields.length > 0;
  lines.block(
    open,
    () => {
      printRegion(node.then, context);
    },
    hasElse ? '} else {' : '}',
  );
  if (!hasElse) return;
  lines.block('', () => {
    printRegion(node.otherwise, context);
  });
}

function printFold(node: FoldNode, results: string, context: Context): void {
  const order = node.reverse ? ' reverse' : '';
  const heads = `(${declareAll(node.left, context)}) (${declareAll(node.right, context)})`;
  const open = `${results}${node.kind} ${printIds(node.args, context)} axis ${String(node.axis)}${order} by ${heads} {`;
  context.lines.block(`${open}  # ${String(node.origin.line)}`, () => {
    printRegion(node.combine, context);
  });
}

function printOp(node: TileOp, context: Context): string {
  const args = printIds(node.args, context);
  const param = (index: number): string => context.program.params[index]?.name ?? '?';
  switch (node.op) {
    case 'apply':
      return `${node.attrs.op}(${args})`;
    case 'constant':
      return printConstant(node.attrs.value, dtypeInfo[node.attrs.dtype].category);
    case 'argument':
      return param(node.attrs.param);
    case 'load':
    case 'store':
    case 'atomicCas':
      return `${node.op} ${param(node.attrs.param)}[${args}]`;
    case 'atomic':
      return `atomic ${node.attrs.mode} ${param(node.attrs.param)}[${args}]`;
    case 'programId':
    case 'numPrograms':
      return `${node.op}(${String(node.attrs.axis)})`;
    case 'arange':
      return `arange(${String(node.attrs.start)}, ${String(node.attrs.end)})`;
    case 'broadcast':
    case 'reshape':
    case 'permute':
    case 'cast':
    case 'bitcast':
    case 'gather':
    case 'dot':
    case 'hint':
    case 'barrier':
    case 'print':
    case 'assert':
    case 'assume':
      return `${node.op}${printAttrs(node)}(${args})`;
  }
}

/** What the types of operands and results do not say already. */
function printAttrs({ op, attrs }: TileOp): string {
  if (op === 'permute') return `[${attrs.order.join(', ')}]`;
  if (op === 'gather') return `[${String(attrs.axis)}]`;
  if (op === 'dot') return attrs.precision === 'ieee' ? '' : `[${attrs.precision}]`;
  if (op === 'hint') return `[${attrs.fact} ${attrs.values.join(', ')}]`;
  if (op === 'print') return `[${JSON.stringify(attrs.prefix)}]`;
  return op === 'assert' ? `[${JSON.stringify(attrs.message)}]` : '';
}
