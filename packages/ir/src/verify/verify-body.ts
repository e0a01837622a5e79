// The laws of bodies: ids refer backwards, dtypes agree with the op table, indices name only what is in scope. Throws an
// InternalError that names the node and the law.
import { at, dtypeInfo } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { pointwise, resultOfRule } from '@tsinductor/ops';
import { freeAxes, freeSizes, indirectsOf } from '../arithmetic/query.ts';
import { operandDType } from '../body/op-dtypes.ts';
import { BoundsFinder, liesWithin } from '../body/scalar-bounds.ts';
import { scalarIndexes, scalarOperands } from '../body/traverse-body.ts';
import { lawBroken } from '../errors.ts';
import type { Index } from '../index-expr.ts';
import type { BufferDecl } from '../loop.ts';
import { printIndex } from '../print/print-index.ts';
import type { Body, BufferId, Scalar, ScalarId } from '../scalar.ts';

/** What a body may refer to. */
interface BodyScope {
  /** Named in messages: `reduce b3, step`. */
  readonly where: string;
  readonly axes: ReadonlySet<string>;
  readonly sizes: ReadonlySet<string>;
  readonly buffers: ReadonlyMap<BufferId, BufferDecl>;
  readonly states: readonly DType[];
  readonly sites: number;
}

/** Throws unless the body is well formed in its scope. */
export function verifyBody(body: Body, scope: BodyScope): void {
  for (const [id, node] of body.nodes.entries()) {
    const where = `${scope.where}, node ${String(id)} (${node.kind === 'apply' ? node.op : node.kind})`;
    const fail = (law: string): never => {
      throw lawBroken(where, law);
    };
    for (const operand of scalarOperands(node)) {
      if (!(Number.isInteger(operand) && operand >= 0 && operand < id))
        fail(`refers to ${String(operand)}, which is not an earlier node`);
    }
    for (const index of scalarIndexes(node)) verifyIndex(index, body, { ...scope, where });
    verifyNode(node, (operand) => at(body.nodes, operand).dtype, { ...scope, where });
  }
  for (const result of body.results) {
    if (result >= body.nodes.length) throw lawBroken(scope.where, `result ${String(result)} is not a node`);
  }
}

/** Throws unless the index names only axes and sizes in scope, and values that are checked or bounded. */
export function verifyIndex(
  index: Index,
  body: Body | undefined,
  { where, axes, sizes }: Pick<BodyScope, 'where' | 'axes' | 'sizes'>,
): void {
  const text = printIndex(index);
  for (const name of freeAxes(index))
    if (!axes.has(name)) throw lawBroken(where, `${text} names the axis ${name}, which is not in scope`);
  for (const name of freeSizes(index))
    if (!sizes.has(name)) throw lawBroken(where, `${text} names the size ${name}, which is not declared`);
  for (const { value, extent } of indirectsOf(index)) {
    if (body !== undefined && isIndexOf(body, value, extent)) continue;
    const law = `is neither a check nor known to lie in [0, ${printIndex(extent)})`;
    throw lawBroken(where, `${text} uses node ${String(value)} as an index, which ${law}`);
  }
}

const isIndexOf = (body: Body, id: ScalarId, extent: Index): boolean =>
  body.nodes[id]?.kind === 'check' ||
  (id < body.nodes.length && liesWithin(new BoundsFinder((other) => at(body.nodes, other), 'values'), id, extent));

function verifyNode(node: Scalar, dtypeOf: (id: ScalarId) => DType, scope: BodyScope): void {
  const expect = (what: string, actual: DType, wanted: DType): void => {
    if (actual !== wanted) throw lawBroken(scope.where, `${what} is ${actual}, not ${wanted}`);
  };
  switch (node.kind) {
    case 'constant':
      expect('a constant', node.dtype, dtypeInfo[node.dtype].compute);
      return;
    case 'index':
      expect('an index', node.dtype, 'i64');
      return;
    case 'carried': {
      const state = scope.states[node.slot];
      if (state === undefined) throw lawBroken(scope.where, `there is no state ${String(node.slot)}`);
      expect(`state ${String(node.slot)}`, node.dtype, state);
      return;
    }
    case 'load':
      verifyLoad(node, dtypeOf, scope);
      return;
    case 'cast':
      return;
    case 'bitcast':
      if (dtypeInfo[dtypeOf(node.value)].bytes !== dtypeInfo[node.dtype].bytes) {
        throw lawBroken(scope.where, `${dtypeOf(node.value)} and ${node.dtype} have different widths`);
      }
      return;
    case 'apply': {
      const entry = pointwise[node.op];
      if (node.args.length !== entry.arity)
        throw lawBroken(scope.where, `takes ${String(entry.arity)} operands, not ${String(node.args.length)}`);
      expect('the result', node.dtype, resultOfRule(entry, operandDType(entry, node.args.map(dtypeOf))));
      return;
    }
    case 'check':
      expect('the index', dtypeOf(node.value), 'i64');
      expect('the result', node.dtype, 'i64');
      if (node.site >= scope.sites) throw lawBroken(scope.where, `there is no site ${String(node.site)}`);
  }
}

function verifyLoad(
  node: Extract<Scalar, { readonly kind: 'load' }>,
  dtypeOf: (id: ScalarId) => DType,
  scope: BodyScope,
): void {
  const buffer = scope.buffers.get(node.buffer);
  if (buffer === undefined) throw lawBroken(scope.where, `buffer ${String(node.buffer)} is not declared`);
  if (buffer.dtype !== node.dtype) throw lawBroken(scope.where, `${buffer.name} is ${buffer.dtype}, not ${node.dtype}`);
  if (node.mask !== undefined && dtypeOf(node.mask) !== 'bool') throw lawBroken(scope.where, 'the mask is not bool');
  if (node.other !== undefined && dtypeOf(node.other) !== node.dtype) {
    throw lawBroken(scope.where, `the value outside the mask is ${dtypeOf(node.other)}, not ${node.dtype}`);
  }
}
