// Who writes and who reads each buffer of a program: the data dependences that every step decides on.
import { at, get } from '@tsinductor/base';
import type { BufferDecl, BufferId, LoopNode, LoopProgram } from '@tsinductor/ir';
import { buffersRead } from './node-access.ts';

export interface Facts {
  readonly program: LoopProgram;
  decl(buffer: BufferId): BufferDecl;
  /** Positions in `nodes` of the nodes that write (read) a buffer, ascending. */
  writers(buffer: BufferId): readonly number[];
  readers(buffer: BufferId): readonly number[];
  /** Whether several nodes fill a buffer, each a part of it. */
  isInParts(buffer: BufferId): boolean;
  /** Whether there is any such buffer. */
  readonly hasParts: boolean;
  /** Every buffer that the node at a position reads, once. */
  reads(position: number): readonly BufferId[];
  /** The same with what it waits for, though it does not read it. */
  needs(position: number): readonly BufferId[];
  /** Positions of the nodes that read a buffer or wait for it. */
  followers(buffer: BufferId): readonly number[];
  /** How a node is called in decisions: the name of its first buffer. */
  nameOf(node: LoopNode): string;
}

const none: readonly number[] = [];

/** The facts about `nodes`, which use the program's buffers. */
export function factsOf(program: LoopProgram, nodes: readonly LoopNode[]): Facts {
  const writers = new Map<BufferId, number[]>();
  const readers = new Map<BufferId, number[]>();
  const followers = new Map<BufferId, number[]>();
  const note = (into: Map<BufferId, number[]>, buffer: BufferId, position: number): void => {
    const known = into.get(buffer);
    if (known === undefined) into.set(buffer, [position]);
    else known.push(position);
  };
  const reads = nodes.map(buffersRead);
  const needs = nodes.map(({ after = [] }, position) =>
    after.length === 0 ? at(reads, position) : [...new Set([...at(reads, position), ...after])],
  );
  nodes.forEach((node, position) => {
    for (const buffer of node.outs) note(writers, buffer, position);
    for (const buffer of at(reads, position)) note(readers, buffer, position);
    for (const buffer of at(needs, position)) note(followers, buffer, position);
  });
  return {
    ...declarationsOf(program),
    writers: (buffer) => writers.get(buffer) ?? none,
    readers: (buffer) => readers.get(buffer) ?? none,
    hasParts: [...writers.values()].some(({ length }) => length > 1),
    isInParts: (buffer) => (writers.get(buffer)?.length ?? 0) > 1,
    reads: (position) => at(reads, position),
    needs: (position) => at(needs, position),
    followers: (buffer) => followers.get(buffer) ?? none,
  };
}

/** The same facts where the program declares its buffers otherwise. */
export const redeclared = (facts: Facts, program: LoopProgram): Facts =>
  program === facts.program ? facts : { ...facts, ...declarationsOf(program) };

function declarationsOf(program: LoopProgram): Pick<Facts, 'program' | 'decl' | 'nameOf'> {
  const decls = new Map(program.buffers.map((decl) => [decl.id, decl]));
  return {
    program,
    decl: (buffer) => get(decls, buffer),
    nameOf: (node) => node.outs.map((out) => get(decls, out).name).join('+'),
  };
}
