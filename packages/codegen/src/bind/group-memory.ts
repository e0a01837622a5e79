// Where the buffers of a group are while its kernel is written: parameters of the kernel, rows of scratch, or values at
// hand. The one place that turns a program's buffer into a name.
import { dtypeInfo, invariant } from '@tsinductor/base';
import { add, int, multiply, printIndex } from '@tsinductor/ir';
import type { BufferDecl, BufferId, Group, Index, KernelBuffer, Value } from '@tsinductor/ir';
import type { BufferDirectory } from './buffer-directory.ts';
import { isMultipleOf, mapIndex, named } from './index-math.ts';
import type { KernelWriter } from './kernel-writer.ts';
import type { Source } from './evaluate-body.ts';

interface AtHand {
  /** The index over group axes at which it was computed; undefined: one value for all there is. */
  readonly position: string | undefined;
  readonly value: Value;
}

/** A row of scratch: the buffer's index with the axes outside put to zero, `lanes` elements for each. */
interface Row {
  readonly name: string;
  readonly lanes: number;
  readonly outside: ReadonlySet<string>;
  /** The first element (in a part of workspace). */
  readonly base: Index;
}

export interface TileAccess {
  readonly buffer: BufferId;
  readonly position: Index;
  readonly store: boolean;
}

const tileKey = ({ buffer, position, store }: TileAccess): string =>
  `${store ? 'store' : 'load'} ${String(buffer)} ${printIndex(position)}`;

interface MemoryOptions {
  readonly writer: KernelWriter;
  /** What the addresses of inputs are multiples of, in bytes; an element's size if absent. */
  readonly inputAlignment?: number | undefined;
}

export class GroupMemory {
  readonly #directory: BufferDirectory;
  readonly #writer: KernelWriter;
  readonly #atHand = new Map<BufferId, AtHand>();
  readonly #rows = new Map<BufferId, Row>();
  readonly #parameters = new Map<BufferId, KernelBuffer>();
  readonly #workspaces: KernelBuffer[] = [];
  readonly #written: ReadonlySet<BufferId>;
  readonly #local: ReadonlySet<BufferId>;
  readonly #inputAlignment: number | undefined;
  /** Accesses that a tile of scratch stands for, by buffer and position. */
  readonly #tiles = new Map<string, { readonly name: string; readonly at: Index }>();
  /** Loop variables known to be multiples of something. */
  readonly multiples: Map<string, number> = new Map<string, number>();

  constructor(group: Group, directory: BufferDirectory, { writer, inputAlignment }: MemoryOptions) {
    this.#inputAlignment = inputAlignment;
    this.#directory = directory;
    this.#writer = writer;
    this.#written = new Set(group.nodes.flatMap((node) => node.outs));
    this.#local = new Set(group.locals.map((local) => local.buffer));
    for (const buffer of [...group.reads, ...group.writes]) if (!this.#local.has(buffer)) this.parameter(buffer);
  }

  decl(buffer: BufferId): BufferDecl {
    return this.#directory.decl(buffer);
  }

  bytesOf(buffer: BufferId): number {
    return dtypeInfo[this.decl(buffer).dtype].bytes;
  }

  isVirtual(buffer: BufferId): boolean {
    return this.#local.has(buffer) || this.#directory.plan(buffer)?.kind === 'virtual';
  }

  /** Whether a node of the group writes it. */
  isWritten(buffer: BufferId): boolean {
    return this.#written.has(buffer);
  }

  parameter(buffer: BufferId): KernelBuffer {
    const known = this.#parameters.get(buffer);
    if (known !== undefined) return known;
    const decl = this.decl(buffer);
    const written = this.isWritten(buffer);
    const plan = this.#directory.plan(buffer);
    const isUsers = decl.role === 'input' || (plan?.kind === 'output' && plan.over !== undefined);
    const parameter: KernelBuffer = {
      name: this.#writer.fresh(decl.name),
      dtype: decl.dtype,
      role: written ? 'readWrite' : 'read',
      storage: { kind: 'buffer', buffer },
      size: decl.size,
      align: isUsers ? (this.#inputAlignment ?? dtypeInfo[decl.dtype].bytes) : 64,
    };
    this.#parameters.set(buffer, parameter);
    return parameter;
  }

  /** Memory that this kernel alone uses. */
  workspace(base: string, dtype: BufferDecl['dtype'], elements: Index): KernelBuffer {
    const buffer: KernelBuffer = {
      name: this.#writer.fresh(base),
      dtype,
      role: 'readWrite',
      storage: { kind: 'workspace', elements },
      size: elements,
      align: 64,
    };
    this.#workspaces.push(buffer);
    return buffer;
  }

  get buffers(): readonly KernelBuffer[] {
    return [...this.#parameters.values(), ...this.#workspaces];
  }

  row(buffer: BufferId): Row | undefined {
    return this.#rows.get(buffer);
  }

  setRow(buffer: BufferId, row: Row): void {
    this.#rows.set(buffer, row);
  }

  keep(buffer: BufferId, position: Index | undefined, value: Value): void {
    this.#atHand.set(buffer, { position: position === undefined ? undefined : printIndex(position), value });
  }

  /** Runs `body`; values that it keeps and rows that it declares are forgotten after it. */
  scoped(body: () => void): void {
    const [atHand, rows] = [new Map(this.#atHand), new Map(this.#rows)];
    body();
    this.#atHand.clear();
    this.#rows.clear();
    for (const [buffer, value] of atHand) this.#atHand.set(buffer, value);
    for (const [buffer, row] of rows) this.#rows.set(buffer, row);
  }

  /** Until `clearTiles`, vectors of this access lie side by side in a tile of scratch. */
  setTile(access: TileAccess, tile: { readonly name: string; readonly at: Index }): void {
    this.#tiles.set(tileKey(access), tile);
  }

  tile(access: TileAccess): { readonly name: string; readonly at: Index } | undefined {
    return this.#tiles.get(tileKey(access));
  }

  clearTiles(): void {
    this.#tiles.clear();
  }

  source(buffer: BufferId, position: Index, resolve: (index: Index) => Index): Source {
    const atHand = this.#atHand.get(buffer);
    if (atHand !== undefined && (atHand.position === undefined || atHand.position === printIndex(position)))
      return { kind: 'value', value: atHand.value };
    const floor = this.#written.has(buffer) ? this.#writer.depth : 0;
    const tile = this.tile({ buffer, position, store: false });
    const row = this.#rows.get(buffer);
    const bytes = dtypeInfo[this.decl(buffer).dtype].bytes;
    if (tile !== undefined)
      return { kind: 'memory', name: tile.name, at: tile.at, floor: this.#writer.depth, align: bytes, packed: true };
    if (row !== undefined) {
      const place = this.rowIndex(row, position, resolve);
      return { kind: 'memory', name: row.name, at: place, floor, align: bytes, packed: row.lanes > 1 };
    }
    invariant(!this.isVirtual(buffer), `${this.decl(buffer).name} is read where it has no value: a wrong fusion`);
    const { name } = this.parameter(buffer);
    return { kind: 'memory', name, at: resolve(position), floor, align: bytes, packed: false };
  }

  rowIndex(row: Row, position: Index, resolve: (index: Index) => Index): Index {
    const inside = mapIndex(position, {
      axis: (axis) => (row.outside.has(axis.name) ? int(0) : named(axis.name, axis.extent)),
      indirect: (value, extent) => ({ kind: 'indirect', value, extent }),
    });
    return add(row.base, multiply(resolve(inside), int(row.lanes)));
  }

  /** What an address is known to be a multiple of. */
  alignment(buffer: BufferId, index: Index, lanes: number): number {
    const { align, dtype } = this.parameter(buffer);
    const { bytes } = dtypeInfo[dtype];
    const whole = lanes * bytes;
    return align >= whole && isMultipleOf(index, lanes, this.multiples) ? whole : bytes;
  }
}
