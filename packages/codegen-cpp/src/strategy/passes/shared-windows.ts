// Loads of lanes a few elements apart that lie between one another: the even and the odd elements of a row, the colours of a
// picture, the partners of a rotation. In: the statements of a kernel. Out: the same, with the vectors that such lanes lie in
// loaded once and taken apart in registers. A lone load takes its lanes out of vectors that end with its last lane, and so begin
// anywhere; here they begin where the first lane of all does, and no element is read that none of the loads reads.
//
// What joins every part of one window with that of another, lane by lane, joins their vectors, which are then taken apart once
// (see strategy/joined-windows.ts).
//
// (Measured on a Zen 4, 16 lanes of even and of odd elements in four vectors each of which crosses lines, against two that do
// not: an image that is halved by blocks of 2x2 takes 12 % less of 4 MB, 4 to 9 % of 256 KB.)
import { at, dtypeInfo } from '@tsinductor/base';
import { constantTerm, staticValue } from '@tsinductor/codegen';
import type { KernelWriter } from '@tsinductor/codegen';
import { add, int, printIndex, subtract, withBlocks } from '@tsinductor/ir';
import type { Access, Stmt, Value } from '@tsinductor/ir';
import { isSpread } from '../../machine/isa.ts';
import type { Isa } from '../../machine/isa.ts';
import { joinWindows } from './joined-windows.ts';
import type { Define, Let, Part, Window } from './joined-windows.ts';

interface Sharing {
  readonly isa: Isa;
  readonly writer: KernelWriter;
}

/** A load of lanes that lie apart. */
interface Spread extends Part {
  readonly access: Access;
}

/** The same block by identity where there is nothing to share. */
export function shareWindows(block: readonly Stmt[], sharing: Sharing): readonly Stmt[] {
  const inside = block.map((statement) => withBlocks(statement, (inner) => shareWindows(inner, sharing)));
  const found = runsOf(inside).map((run) => ({ run, windows: windowsOf(run, sharing.isa) }));
  if (found.every(({ windows }) => windows.length === 0))
    return inside.every((statement, place) => statement === block[place]) ? block : inside;
  const windows = joinWindows(found, inside);
  const homes = new Map<Stmt, Window>(
    windows.flatMap((window) => window.parts.map(({ statement }) => [statement, window])),
  );
  const replaced = new Set<Stmt>(windows.flatMap((window) => window.replaced));
  const loaded = new Map<Window, readonly Value[]>();
  const shared: Stmt[] = [];
  const define: Define = (value, base) => {
    const name = sharing.writer.fresh(base);
    shared.push({ kind: 'let', name, value });
    return { kind: 'name', name, type: value.type };
  };
  for (const statement of inside) {
    const window = homes.get(statement);
    if (window === undefined || statement.kind !== 'let') {
      if (!replaced.has(statement)) shared.push(statement);
      continue;
    }
    const vectors = loaded.get(window) ?? window.vectors(define);
    loaded.set(window, vectors);
    shared.push({ ...statement, value: takenFrom(vectors, { window, statement, define }) });
  }
  return shared;
}

/** Values that nothing is stored between: whatever one of them reads, another may read in its place. */
function runsOf(block: readonly Stmt[]): readonly (readonly Let[])[] {
  const runs: Let[][] = [[]];
  for (const statement of block) {
    if (statement.kind === 'let') at(runs, runs.length - 1).push(statement);
    else if (statement.kind !== 'prefetch' && statement.kind !== 'comment') runs.push([]);
  }
  return runs.filter((run) => run.length > 1);
}

/** The windows that loads of a run share. */
function windowsOf(run: readonly Let[], isa: Isa): readonly Window[] {
  const kinds = new Map<string, Spread[]>();
  for (const statement of run) {
    const spread = spreadOf(statement, isa);
    if (spread === undefined) continue;
    const { access, type, step, offset } = spread;
    const rest = printIndex(subtract(access.at, int(offset)));
    const kind = [access.buffer, type.dtype, type.lanes, step, rest].join(' ');
    kinds.set(kind, [...(kinds.get(kind) ?? []), spread]);
  }
  const clusters = [...kinds.values()].flatMap(clustered).filter((loads) => loads.length > 1);
  return clusters.map((parts) => ({ parts, replaced: [], vectors: (define) => loadedOnce(parts, define) }));
}

function spreadOf(statement: Let, isa: Isa): Spread | undefined {
  const { value } = statement;
  if (value.kind !== 'load' || value.mask !== undefined || value.type.dtype === 'bool') return undefined;
  const { access, type } = value;
  if (access.offsets !== undefined || access.count !== undefined) return undefined;
  const step = staticValue(access.step);
  const register = { lanes: type.lanes, bytes: dtypeInfo[type.dtype].bytes };
  if (step === undefined || step < 2 || !isSpread(isa, register, step)) return undefined;
  return { statement, access, type, step, offset: constantTerm(access.at) };
}

/** Those whose first lanes lie within one step of each other, the first of them in front. */
function clustered(loads: readonly Spread[]): readonly (readonly Spread[])[] {
  const clusters: Spread[][] = [];
  for (const load of [...loads].sort((a, b) => a.offset - b.offset)) {
    const [first] = clusters.at(-1) ?? [];
    if (first !== undefined && load.offset < first.offset + first.step) clusters.at(-1)?.push(load);
    else clusters.push([load]);
  }
  return clusters;
}

/** Elements from a window's begin to the last that one of its loads reads. */
function extentOf(parts: readonly Part[]): number {
  const [first, last] = [at(parts, 0), at(parts, parts.length - 1)];
  return last.offset - first.offset + (first.type.lanes - 1) * first.step + 1;
}

/** Where the vectors of a window begin: one after another, and the last so that it ends with the window. */
const startsOf = (parts: readonly Part[]): readonly number[] => {
  const { step, type } = at(parts, 0);
  return Array.from({ length: step }, (_, vector) => Math.min(vector * type.lanes, extentOf(parts) - type.lanes));
};

function loadedOnce(parts: readonly Spread[], define: Define): readonly Value[] {
  const { access, type } = at(parts, 0);
  return startsOf(parts).map((start) => {
    const align = start === 0 ? access.align : dtypeInfo[type.dtype].bytes;
    const vector = { ...access, at: add(access.at, int(start)), step: int(1), align };
    return define({ kind: 'load', access: vector, type }, `${access.buffer}_window`);
  });
}

interface Taking {
  readonly window: Window;
  readonly statement: Let;
  readonly define: Define;
}

/** The lanes of one part out of the vectors of its window: the first two give theirs, then every other what it has. */
function takenFrom(vectors: readonly Value[], { window: { parts }, statement, define }: Taking): Value {
  const [first, own] = [at(parts, 0), parts.find((part) => part.statement === statement) ?? at(parts, 0)];
  const { type, step } = first;
  const starts = startsOf(parts);
  const places = Array.from({ length: type.lanes }, (_, lane) => own.offset - first.offset + lane * step);
  const homes = places.map((place) => starts.findIndex((start) => place >= start && place < start + type.lanes));
  let sofar = at(vectors, 0);
  for (let vector = 1; vector < vectors.length; vector += 1) {
    const order = places.map((place, lane) => {
      const home = at(homes, lane);
      if (home === vector) return type.lanes + place - at(starts, vector);
      return vector === 1 && home === 0 ? place : lane;
    });
    const both: Value = { kind: 'rearranged', value: sofar, other: at(vectors, vector), order, type };
    if (vector === vectors.length - 1) return both;
    sofar = define(both, 'lanes');
  }
  return sofar;
}
