// What lowering carries from node to node: the builder, the source being read, and how often it went round.
import type { Node } from 'acorn';
import type { UserError } from '@tsinductor/base';
import type { BlockParam, TileBuilder } from '@tsinductor/ir';
import { kernelError } from '../errors.ts';
import type { KernelErrorCode } from '../errors.ts';
import type { KernelSource } from '../parse/kernel-source.ts';
import type { Scope } from './scope.ts';

export interface Context {
  readonly builder: TileBuilder;
  readonly source: KernelSource;
  readonly scope: Scope;
  readonly params: readonly BlockParam[];
  /** Functions that are being lowered around this point. */
  readonly depth: number;
  /** Whether memory may be touched: not within a combine function. */
  readonly isScalarOnly: boolean;
}

/** More nodes than any kernel has a use for: a static range that does not end. */
const nodeLimit = 200_000;
const callDepth = 64;

type Fault = readonly [code: KernelErrorCode, message: string, hint: string];

/** An error at a node of the source. */
export const faultAt = (
  node: Pick<Node, 'start' | 'end'>,
  { source }: Context,
  [code, message, hint]: Fault,
): UserError => kernelError(code, message, { place: source.place(node), hint });

/** Says where what follows comes from, and stops what would not end. */
export function enter(node: Node, context: Context): void {
  context.builder.origin = context.source.locate(node.start);
  if (context.builder.size > nodeLimit)
    throw faultAt(node, context, [
      'KERNEL_LIMIT',
      `the kernel is more than ${String(nodeLimit)} operations long`,
      'use tl.range, which is a loop when the kernel runs, instead of a loop that is unrolled',
    ]);
  if (context.depth > callDepth)
    throw faultAt(node, context, [
      'KERNEL_LIMIT',
      `functions call each other more than ${String(callDepth)} deep`,
      'replace the recursion by a loop',
    ]);
}
