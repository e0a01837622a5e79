// Rows of one matrix product that become operands of others, as scores become weights in attention, where the backward pass needs them as
// well. A kernel has such rows in a cache, some at a time (scheduler/product-chains, scheduler/branched-chains); kept for the
// backward pass they would be a whole matrix, written and read. So they are computed again there, from the operands of the product.
//
// In: a joint graph. Out: the early calls from such a product to the others. They are only left to the backward pass where that uses them as
// such kernels do: element by element, as sums and maxima along rows, and in products.
import { at, dtypeInfo, isFloat } from '@tsinductor/base';
import { valuesOf } from '../argument-reader.ts';
import type { Graph, GraphNode, NodeId } from '../graph.ts';
import type { CallNode } from '../passes/rebuild.ts';
import { costKindOf } from './cost-kind.ts';

interface Given {
  readonly graph: Graph;
  readonly late: ReadonlySet<NodeId>;
  readonly outputs: ReadonlySet<NodeId>;
}

/** Of which rows kernels keep some at a time, and never all. */
export interface RowLimits {
  /** Of all rows together, the fewest bytes. */
  readonly leastBytes: number;
  readonly leastRows: number;
  /** The fewest matrices of rows. */
  readonly leastMatrices: number;
  /** The most bytes of a row. */
  readonly rowBytes: number;
}

export function rowsBetween(given: Given, limits: RowLimits): ReadonlySet<NodeId> {
  const users = usersOf(given.graph);
  const found = new Set<NodeId>();
  for (const node of given.graph.nodes) {
    if (!isProduct(node) || given.late.has(node.id) || !hasSuchRows(node, limits)) continue;
    for (const id of rowsFrom(node, { ...given, users }) ?? []) found.add(id);
  }
  return found;
}

type Users = readonly (readonly CallNode[])[];

function usersOf({ nodes }: Graph): Users {
  const users = nodes.map((): CallNode[] => []);
  for (const node of nodes)
    if (node.kind === 'call') for (const { node: used } of valuesOf(node.args)) at(users, used).push(node);
  return users;
}

const isProduct = (node: GraphNode): node is CallNode => node.kind === 'call' && node.target === 'bmm';

/** How many elements a call's only result has; 0 where that is not known. */
function elementsOf({ results }: CallNode): number {
  const [result, ...others] = results;
  const extents = (result?.shape ?? []).map((size) => (size.kind === 'int' ? size.value : 0));
  return result === undefined || others.length > 0 ? 0 : extents.reduce((count, size) => count * size, 1);
}

/** Whether the rows that a product makes are within the limits. */
function hasSuchRows(product: CallNode, { leastBytes, leastRows, leastMatrices, rowBytes }: RowLimits): boolean {
  const { dtype, shape } = at(product.results, 0);
  const [columns = 0, rows = 0, ...batch] = shape.map((size) => (size.kind === 'int' ? size.value : 0)).reverse();
  const { bytes } = dtypeInfo[dtype];
  const isLarge = elementsOf(product) * bytes >= leastBytes && rows >= leastRows && columns * bytes <= rowBytes;
  return isLarge && isFloat(dtype) && batch.reduce((count, size) => count * size, 1) >= leastMatrices;
}

interface Following extends Given {
  readonly users: Users;
}

/** The early calls that rows of a product go through; undefined where somebody needs a whole matrix of them. */
function rowsFrom(product: CallNode, given: Following): readonly NodeId[] | undefined {
  const { late, outputs } = given;
  const size = elementsOf(product);
  const seen = new Set<CallNode>([product]);
  const uses = { early: new Set<UseOfRows>(), late: new Set<UseOfRows>() };
  const open = [product];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (elementsOf(next) === size && outputs.has(next.id)) return undefined;
    for (const { user, isLate, use } of usesOf(next, { ...given, size })) {
      uses[isLate ? 'late' : 'early'].add(use);
      if (use !== 'along rows' || seen.has(user)) continue;
      seen.add(user);
      if (!isLate || elementsOf(user) === size) open.push(user);
    }
  }
  const isLeft = [uses.early, uses.late].every((all) => all.has('product') && !all.has('whole'));
  return isLeft ? [...seen].flatMap(({ id }) => (late.has(id) ? [] : [id])) : undefined;
}

interface Use {
  readonly user: CallNode;
  readonly isLate: boolean;
  readonly use: UseOfRows;
}

/** Who uses what a call makes of rows: of one number for each row, which is memory that does not matter, the forward pass alone. */
function usesOf(call: CallNode, { late, users, size }: Following & { readonly size: number }): readonly Use[] {
  const isRow = elementsOf(call) === size;
  return at(users, call.id).flatMap((user) => {
    const isLate = late.has(user.id);
    return isLate && !isRow ? [] : [{ user, isLate, use: useOf(user, { isRow, size, users }) }];
  });
}

/** How a call uses rows: as a product, as loops over rows do, as a whole matrix, or not at all. */
type UseOfRows = 'product' | 'along rows' | 'whole' | 'none';

interface Along extends Pick<Following, 'users'> {
  /** Whether it uses rows, and not one number for each. */
  readonly isRow: boolean;
  /** How many elements all rows have. */
  readonly size: number;
}

function useOf(call: CallNode, along: Along): UseOfRows {
  if (isProduct(call)) return along.isRow ? 'product' : 'none';
  if (isAlongRows(call, along)) return 'along rows';
  return along.isRow ? 'whole' : 'none';
}

/** Whether a call is at elements of rows, or along them; transposed rows are operands of products alone. */
function isAlongRows(call: CallNode, { isRow, size, users }: Along): boolean {
  const elements = elementsOf(call);
  switch (costKindOf(call)) {
    case 'pointwise':
      return elements === size || (!isRow && elements < size);
    case 'view':
      return (
        (elements === size || (!isRow && elements < size)) &&
        (!isTransposing(call) || at(users, call.id).every(isProduct))
      );
    case 'reduction':
      return isAlongLast(call);
    case 'created':
    case 'heavy':
    case 'checked':
      return false;
  }
}

const isTransposing = ({ target, attrs }: CallNode): boolean =>
  target === 'permute' && (attrs['dims'] as readonly number[]).some((axis, place) => axis !== place);

/** Whether a reduction runs along the last axis alone. */
function isAlongLast({ attrs, results }: CallNode): boolean {
  const dims = attrs['dims'];
  const rank = at(results, 0).shape.length + (attrs['keepdim'] === true ? 0 : 1);
  return Array.isArray(dims) && dims.length === 1 && dims[0] === rank - 1;
}
