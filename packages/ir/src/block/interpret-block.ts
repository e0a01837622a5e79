// Block IR executed on the host, instance by instance: the meaning of the IR, with every access checked. Out-of-bounds and
// uninitialised reads, races between program instances, false hints and failed assertions are UserErrors with the kernel's
// line and the program's id. What compiled kernels compute is compared with this.
import { at, get } from '@tsinductor/base';
import type { ScalarFunction, Value } from '@tsinductor/ops';
import type { BlockProgram, FoldNode, ForNode, Region, Tile, TileId, TileNode, TileOp, WhileNode } from './block.ts';
import { zeroStep } from './block-errors.ts';
import type { FaultSite } from './block-errors.ts';
import { BlockMemory, isBuffer } from './block-memory.ts';
import type { BlockArgument } from './block-memory.ts';
import { interpretOp } from './interpret-op.ts';
import type { Elements, InstanceContext } from './interpret-op.ts';
import { rowsAlong } from './tile-layout.ts';
import { reductionOrder } from './tile-ops.ts';
import { tileOperands, tilesOf } from './traverse-block.ts';

export interface BlockRun {
  readonly grid: readonly [number, number, number];
  /** In the order of the program's parameters; buffers are written in place. */
  readonly args: readonly BlockArgument[];
  /** In which order the instances run; no correct kernel can tell. */
  readonly order?: 'forward' | 'reverse';
  /** Where `print` writes. */
  readonly print?: (text: string) => void;
  /** Called before each node, and after it with its results: for who follows a run step by step. */
  readonly before?: (step: Omit<BlockStep, 'results'>) => void;
  readonly observe?: (step: BlockStep) => void;
}

export interface BlockStep {
  readonly node: TileNode;
  readonly program: readonly [number, number, number];
  readonly results: readonly Elements[];
}

/** Runs every instance of the grid. */
export function interpretBlock(program: BlockProgram, run: BlockRun): void {
  const [width, height, depth] = run.grid;
  const count = width * height * depth;
  const idOf = (instance: number): [number, number, number] => [
    instance % width,
    Math.floor(instance / width) % height,
    Math.floor(instance / (width * height)),
  ];
  const memory = new Map<number, BlockMemory>();
  program.params.forEach((param, index) => {
    const argument = at(run.args, index);
    if (isBuffer(argument))
      memory.set(index, new BlockMemory(param, argument, (instance) => `(${idOf(instance).join(', ')})`));
  });
  const shared = {
    tiles: tilesOf(program.body),
    functions: new Map<string, ScalarFunction>(),
    sources: new Map<TileOp, Int32Array>(),
    memory,
  };
  for (let step = 0; step < count; step++) {
    const instance = run.order === 'reverse' ? count - 1 - step : step;
    new Instance(program, run, { ...shared, instance, id: idOf(instance) }).region(program.body);
  }
}

interface Shared {
  readonly tiles: ReadonlyMap<TileId, Tile>;
  readonly functions: Map<string, ScalarFunction>;
  readonly sources: Map<TileOp, Int32Array>;
  readonly memory: ReadonlyMap<number, BlockMemory>;
  readonly instance: number;
  readonly id: readonly [number, number, number];
}

class Instance {
  readonly #run: BlockRun;
  readonly #kernel: string;
  readonly #context: Omit<InstanceContext, 'site'>;
  readonly #values = new Map<TileId, Elements>();

  constructor(program: BlockProgram, run: BlockRun, { id, ...shared }: Shared) {
    this.#run = run;
    this.#kernel = program.name;
    const print = run.print ?? ((text: string) => process.stdout.write(`${text}\n`));
    this.#context = { ...shared, program: id, grid: run.grid, args: run.args, print };
  }

  #site(node: TileNode): FaultSite {
    return { kernel: this.#kernel, program: this.#context.program, origin: node.origin };
  }

  #of(id: TileId): Elements {
    return get(this.#values, id);
  }

  /** Runs a region; returns what it yields. */
  region({ nodes, yields }: Region): readonly Elements[] {
    for (const node of nodes) {
      this.#run.before?.({ node, program: this.#context.program });
      const results = this.#node(node);
      this.#bind(node.results, results);
      this.#run.observe?.({ node, program: this.#context.program, results });
    }
    return yields.map((id) => this.#of(id));
  }

  #bind(tiles: readonly Tile[], values: readonly Elements[]): void {
    tiles.forEach((tile, slot) => this.#values.set(tile.id, at(values, slot)));
  }

  #node(node: TileNode): readonly Elements[] {
    switch (node.kind) {
      case 'op': {
        const args = tileOperands(node).map((id) => this.#of(id));
        const result = interpretOp(node, args, { ...this.#context, site: this.#site(node) });
        return result === undefined ? [] : [result];
      }
      case 'for':
        return this.#for(node);
      case 'while':
        return this.#while(node);
      case 'if':
        return this.region(this.#of(node.test)[0] === 0 ? node.otherwise : node.then);
      case 'reduce':
        return this.#reduce(node);
      case 'scan':
        return this.#scan(node);
    }
  }

  #for(node: ForNode): readonly Elements[] {
    const [from, to, step] = [node.from, node.to, node.step].map((id) => at(this.#of(id), 0)) as [Value, Value, Value];
    const distance = BigInt(step);
    if (distance === 0n) throw zeroStep(this.#site(node));
    const end = BigInt(to);
    let carried = node.initial.map((id) => this.#of(id));
    for (let value = BigInt(from); distance > 0n ? value < end : value > end; value += distance) {
      this.#bind([node.induction], [[node.induction.dtype === 'i64' ? value : Number(value)]]);
      this.#bind(node.carried, carried);
      carried = [...this.region(node.body)];
    }
    return carried;
  }

  #while(node: WhileNode): readonly Elements[] {
    let carried = node.initial.map((id) => this.#of(id));
    for (;;) {
      this.#bind(node.carried, carried);
      const [test] = this.region(node.test);
      if (test?.[0] === 0) return carried;
      carried = [...this.region(node.body)];
    }
  }

  #combine(node: FoldNode, left: Elements, right: Elements): Elements {
    this.#bind(
      node.left,
      left.map((value) => [value]),
    );
    this.#bind(
      node.right,
      right.map((value) => [value]),
    );
    return this.region(node.combine).map((value) => at(value, 0));
  }

  /** The rows of a fold's operands, as lists of elements: one element has a value for each operand. */
  #rows(node: FoldNode): { readonly rows: readonly (readonly Elements[])[]; readonly places: readonly Int32Array[] } {
    const { shape } = get(this.#context.tiles, at(node.args, 0));
    const { starts, step } = rowsAlong(shape, node.axis);
    const args = node.args.map((id) => this.#of(id));
    const extent = at(shape, node.axis);
    const places = Array.from(starts, (start) =>
      Int32Array.from({ length: extent }, (_, index) => start + index * step),
    );
    return { places, rows: places.map((row) => Array.from(row, (place) => args.map((arg) => at(arg, place)))) };
  }

  #reduce(node: FoldNode): readonly Elements[] {
    const reduced = this.#rows(node).rows.map((row) => {
      const { partials, folds } = reductionOrder(row.length);
      const states = row.slice(0, partials);
      for (let index = partials; index < row.length; index++)
        states[index % partials] = this.#combine(node, at(states, index % partials), at(row, index));
      for (const [into, from] of folds) states[into] = this.#combine(node, at(states, into), at(states, from));
      return at(states, 0);
    });
    return node.args.map((_, slot) => reduced.map((state) => at(state, slot)));
  }

  #scan(node: FoldNode): readonly Elements[] {
    const { rows, places } = this.#rows(node);
    const results = node.args.map((id) => new Array<Value>(this.#of(id).length));
    rows.forEach((row, number) => {
      let state: Elements | undefined;
      for (let index = 0; index < row.length; index++) {
        const place = node.reverse ? row.length - 1 - index : index;
        state = state === undefined ? at(row, place) : this.#combine(node, state, at(row, place));
        for (const [slot, result] of results.entries()) result[at(at(places, number), place)] = at(state, slot);
      }
    });
    return results;
  }
}
