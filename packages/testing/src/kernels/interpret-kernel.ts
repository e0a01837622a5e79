// The Kernel IR executed on the host, lane by lane: the meaning of the IR. Out-of-bounds and uninitialised reads are InternalErrors.
import { at, get, InternalError } from '@tsinductor/base';
import { bitcastValue, castValue, evaluator, pointwise, roundToDType } from '@tsinductor/ops';
import type { Value as Scalar } from '@tsinductor/ops';
import { constantToValue, evaluateIndex, freeAxes, printKernelValue, printLine, targetOps } from '@tsinductor/ir';
import type { Access, BoundsStmt, Condition, HardwareStmt, Index, Kernel, Stmt, Value } from '@tsinductor/ir';
import { combined } from './combine-element.ts';
import { AsyncCopies } from './async-copies.ts';
import type { KernelMemory, KernelRun, Meeting, Met, ThreadOptions, Watch } from './kernel-run.ts';
import { moveElements } from './move-elements.ts';
import { loadedPlaces, multipliedFragment, packHalves } from './matrix-fragments.ts';

type Steps = Generator<Meeting, void, Met>;

type Lanes = readonly Scalar[];

const emptyOptions: ThreadOptions = { names: new Map() };

/** One thread that executes a kernel; it stops at every meeting and is given the value that it gets there. */
export class KernelThread {
  status = 0;
  watch: Watch | undefined;
  /** Whether the unit of work failed: nothing more of it runs. */
  #hasFailed = false;
  readonly #kernel: Kernel;
  readonly #run: KernelRun;
  readonly #memory: Map<string, KernelMemory>;
  readonly #freeAxes: Map<Index, ReadonlySet<string>>;
  readonly #names = new Map<string, Lanes>();
  readonly #copies = new AsyncCopies();

  constructor(kernel: Kernel, run: KernelRun, { names, freeAxes: known }: ThreadOptions = emptyOptions) {
    this.#kernel = kernel;
    this.#run = run;
    this.#memory = new Map(run.memory);
    this.#freeAxes = known ?? new Map<Index, ReadonlySet<string>>();
    for (const [name, value] of names) this.#names.set(name, [value]);
  }

  *block(statements: readonly Stmt[]): Steps {
    for (const statement of statements) {
      if (this.#hasFailed) return;
      yield* this.#execute(statement);
    }
  }

  #fail(message: string): never {
    throw new InternalError('KERNEL_INTERPRETER', `kernel ${this.#kernel.name}: ${message}`);
  }

  /** An index at lane `lane`, where the axis `axis` (if any) is that much further on. */
  #index(index: Index, lane = 0, axis?: string): number {
    if (index.kind === 'int') return index.value;
    const axes = new Map<string, number>();
    for (const name of this.#axesOf(index)) {
      const lanes = get(this.#names, name);
      const value = lanes.length > 1 ? lanes[lane] : lanes[0];
      axes.set(name, Number(value) + (name === axis ? lane : 0));
    }
    return evaluateIndex(index, { axes, sizes: this.#run.sizes });
  }

  #axesOf(index: Index): ReadonlySet<string> {
    const known = this.#freeAxes.get(index) ?? freeAxes(index);
    this.#freeAxes.set(index, known);
    return known;
  }

  *#execute(statement: Stmt): Steps {
    switch (statement.kind) {
      case 'let':
      case 'var':
      case 'set':
        this.#names.set(statement.name, this.#value(statement.value));
        break;
      case 'store':
        this.#store(statement);
        break;
      case 'for':
        yield* this.#for(statement);
        break;
      case 'if':
        yield* this.block(this.#holds(statement.test) ? statement.then : (statement.otherwise ?? []));
        break;
      case 'parallel':
        yield* this.#parallel(statement);
        break;
      case 'atomic':
        this.#atomic(statement);
        break;
      case 'fetch':
        this.#names.set(statement.name, [this.#fetch(statement)]);
        break;
      case 'while':
        while (!this.#hasFailed && this.#holds(statement.test)) yield* this.block(statement.body);
        break;
      case 'barrier':
        yield { statement, values: [] };
        break;
      case 'shuffle':
        yield* this.#shuffle(statement);
        break;
      case 'copyAsync':
      case 'copies':
      case 'matrixLoad':
      case 'matrixMultiply':
        yield* this.#executeHardware(statement);
        break;
      case 'scratch':
        this.#scratch(statement);
        break;
      case 'check':
        this.#check(statement);
        break;
      case 'transpose':
      case 'sort':
        this.#move(statement);
        break;
      case 'print':
      case 'fail':
      case 'bounds':
        this.#tell(statement);
        break;
      case 'fence':
      case 'prefetch':
      case 'comment':
    }
  }

  *#for(statement: Stmt & { readonly kind: 'for' }): Steps {
    const to = this.#index(statement.to);
    const step = typeof statement.step === 'number' ? statement.step : this.#index(statement.step);
    if (step < 1) this.#fail(`the loop over ${statement.name} does not advance`);
    for (let value = this.#index(statement.from); value < to && !this.#hasFailed; value += step) {
      this.#names.set(statement.name, [BigInt(value)]);
      yield* this.block(statement.body);
    }
  }

  #scratch({ name, dtype, size, shared }: Stmt & { readonly kind: 'scratch' }): void {
    if (shared === undefined)
      this.#memory.set(name, { dtype, elements: new Array<Scalar | undefined>(size).fill(undefined) });
  }

  *#executeHardware(statement: HardwareStmt): Steps {
    if (statement.kind === 'copyAsync') this.#copy(statement);
    else if (statement.kind === 'matrixLoad') yield* this.#loadMatrices(statement);
    else if (statement.kind === 'matrixMultiply') yield* this.#multiply(statement);
    else if (statement.action === 'commit') this.#copies.commit();
    else this.#copies.wait(statement.pending);
  }

  *#shuffle(statement: Stmt & { readonly kind: 'shuffle' }): Steps {
    const own = this.#value(statement.value);
    const distance = this.#index(statement.distance);
    const { lane, offers } = yield { statement, values: own };
    const from = { from: distance, down: lane + distance, up: lane - distance }[statement.mode];
    this.#names.set(statement.name, offers[from] ?? own);
  }

  #copy({ from, to, lanes, mask }: Stmt & { readonly kind: 'copyAsync' }): void {
    const [source, target] = [get(this.#memory, from.buffer), get(this.#memory, to.buffer)];
    const isCopied = mask === undefined || at(this.#value(mask), 0) !== 0;
    const [start, place] = [this.#index(from.at), this.#index(to.at)];
    const zero: Scalar = source.dtype === 'i64' ? 0n : 0;
    const elements = Array.from({ length: lanes }, (_, lane) =>
      isCopied ? this.#element(source, from.buffer, start + lane) : zero,
    );
    for (let lane = 0; lane < lanes; lane++) this.watch?.({ name: to.buffer, place: place + lane, kind: 'write' });
    this.#copies.send({ memory: target, place, elements });
  }

  *#loadMatrices(statement: Stmt & { readonly kind: 'matrixLoad' }): Steps {
    const { from, names, dtype, transposed } = statement;
    const memory = get(this.#memory, from.buffer);
    const { lane, offers } = yield { statement, values: [this.#index(from.at)] };
    const rows = offers.map(([row]) => Number(row));
    names.forEach((name, number) => {
      const [low, high] = loadedPlaces(rows, { lane, number, transposed });
      const pair = [this.#element(memory, from.buffer, low), this.#element(memory, from.buffer, high)] as const;
      this.#names.set(name, [packHalves(pair, dtype)]);
    });
  }

  *#multiply(statement: Stmt & { readonly kind: 'matrixMultiply' }): Steps {
    const { left, right, sum, dtype } = statement;
    const words = [...left, ...right].map((word) => at(this.#value(word), 0));
    const { lane, offers } = yield { statement, values: words };
    const memory = get(this.#memory, sum.buffer);
    const place = this.#index(sum.at);
    multipliedFragment(offers, lane, dtype).forEach((product, slot) => {
      const before = Number(this.#element(memory, sum.buffer, place + slot));
      memory.elements[place + slot] = Math.fround(before + product);
    });
  }

  /** The bodies of chunks from the last to the first, for any order must do; what has an order, then, in that. */
  *#parallel({ begin, end, total, body, ordered }: Stmt & { readonly kind: 'parallel' }): Steps {
    const units = this.#index(total);
    const chunk = this.#run.chunk ?? units;
    const last = Math.ceil(units / Math.max(1, chunk)) - 1;
    const turn = ordered && get(this.#memory, ordered.turn);
    if (turn && BigInt(this.#element(turn, ordered.turn, 0)) !== 0n)
      this.#fail('begins an ordered loop whose turn is not 0');
    const open = (number: number): void => {
      this.#hasFailed = false;
      this.#names.clear();
      this.#names.set(begin, [BigInt(number * chunk)]);
      this.#names.set(end, [BigInt(Math.min(units, (number + 1) * chunk))]);
    };
    for (let number = last; number >= 0; number--) {
      open(number);
      yield* this.block(body);
    }
    for (let number = 0; ordered !== undefined && number <= last; number++) {
      open(number);
      yield* this.block(ordered.body);
      if (turn) turn.elements[0] = BigInt(Math.min(units, (number + 1) * chunk));
    }
  }

  #holds({ kind, left, right }: Condition): boolean {
    const [a, b] = [this.#index(left), this.#index(right)];
    return kind === 'less' ? a < b : (a === b) === (kind === 'equal');
  }

  #value(value: Value): Lanes {
    const { dtype, lanes } = value.type;
    const all = (make: (lane: number) => Scalar): Lanes => Array.from({ length: lanes }, (_, lane) => make(lane));
    switch (value.kind) {
      case 'name':
        return get(this.#names, value.name);
      case 'constant':
        return all(() => castValue(constantToValue(value.value, dtype), dtype, dtype));
      case 'index':
        return all((lane) => castValue(BigInt(this.#index(value.value, lane, value.lane)), 'i64', dtype));
      case 'first': {
        const count = this.#index(value.count);
        return all((lane) => (lane < count ? 1 : 0));
      }
      case 'apply':
        return this.#apply(value);
      case 'target':
        return this.#target(value);
      case 'cast':
        return this.#value(value.value).map((lane) => castValue(lane, value.value.type.dtype, dtype));
      case 'bitcast':
        return this.#value(value.value).map((lane) => bitcastValue(lane, value.value.type.dtype, dtype));
      case 'broadcast': {
        const [scalar] = this.#value(value.value);
        return all(() => scalar ?? 0);
      }
      case 'half': {
        const whole = this.#value(value.value);
        return whole.slice(value.part === 'low' ? 0 : lanes, value.part === 'low' ? lanes : 2 * lanes);
      }
      case 'rearranged': {
        const both = [...this.#value(value.value), ...this.#value(value.other)];
        return value.order.map((lane) => at(both, lane));
      }
      case 'load':
        return this.#load(value);
    }
  }

  #apply(value: Value & { readonly kind: 'apply' }): Lanes {
    const entry = pointwise[value.op];
    const operands = value.args.map((arg) => this.#value(arg));
    const dtype = at(value.args, entry.rule === 'select' ? 1 : 0).type.dtype;
    const compute = evaluator(entry, dtype);
    return Array.from({ length: value.type.lanes }, (_, lane) =>
      compute(...operands.map((operand) => at(operand, lane))),
    );
  }

  #target({ op, args, numbers, type }: Value & { readonly kind: 'target' }): Lanes {
    const operands = args.map((arg) => this.#value(arg).map(Number));
    return Array.from({ length: type.lanes }, (_, lane) => {
      const given = operands.map((operand) => at(operand, lane));
      return roundToDType(targetOps[op].evaluate(given, numbers), type.dtype);
    });
  }

  /** The element of each lane, or undefined where the access leaves the lane out. */
  #places(access: Access, mask: Lanes | undefined, lanes: number): readonly (number | undefined)[] {
    const base = this.#index(access.at);
    const step = this.#index(access.step);
    const count = access.count === undefined ? lanes : this.#index(access.count);
    const offsets = access.offsets === undefined ? undefined : this.#value(access.offsets);
    return Array.from({ length: lanes }, (_, lane) => {
      if (lane >= count || mask?.[lane] === 0) return undefined;
      return base + (offsets === undefined ? lane * step : Number(offsets[lane]));
    });
  }

  #element(memory: KernelMemory, name: string, place: number): Scalar {
    if (place < 0 || place >= memory.elements.length)
      this.#fail(`reads ${name}[${String(place)}] of ${String(memory.elements.length)}`);
    this.watch?.({ name, place, kind: 'read' });
    return memory.elements[place] ?? this.#fail(`reads ${name}[${String(place)}] before it is written`);
  }

  #load(value: Value & { readonly kind: 'load' }): Lanes {
    const { access, type } = value;
    const memory = get(this.#memory, access.buffer);
    const mask = value.mask === undefined ? undefined : this.#value(value.mask);
    const other = value.other === undefined ? undefined : this.#value(value.other);
    return this.#places(access, mask, type.lanes).map((place, lane) => {
      if (place !== undefined) return this.#element(memory, access.buffer, place);
      return other?.[lane] ?? (type.dtype === 'i64' ? 0n : 0);
    });
  }

  #store({ access, value, mask }: Stmt & { readonly kind: 'store' }): void {
    const memory = get(this.#memory, access.buffer);
    const lanes = this.#value(value);
    const guard = mask === undefined ? undefined : this.#value(mask);
    this.#places(access, guard, lanes.length).forEach((place, lane) => {
      if (place === undefined) return;
      if (place < 0 || place >= memory.elements.length)
        this.#fail(
          `writes ${access.buffer}[${String(place)}] of ${String(memory.elements.length)}: ${printKernelValue(value)}`,
        );
      this.watch?.({ name: access.buffer, place, kind: 'write' });
      memory.elements[place] = at(lanes, lane);
    });
  }

  #atomic({ op, access, value }: Stmt & { readonly kind: 'atomic' }): void {
    const memory = get(this.#memory, access.buffer);
    const place = this.#index(access.at);
    if (place < 0 || place >= memory.elements.length)
      this.#fail(`updates ${access.buffer}[${String(place)}] of ${String(memory.elements.length)}`);
    this.watch?.({ name: access.buffer, place, kind: 'atomic' });
    const old = memory.elements[place] ?? this.#fail(`updates ${access.buffer}[${String(place)}] before it is written`);
    memory.elements[place] = evaluator(pointwise[op], memory.dtype)(old, at(this.#value(value), 0));
  }

  #fetch({ op, access, value, expected }: Stmt & { readonly kind: 'fetch' }): Scalar {
    const memory = get(this.#memory, access.buffer);
    const place = this.#index(access.at);
    const old = memory.elements[place] ?? this.#fail(`updates ${access.buffer}[${String(place)}], which has no value`);
    this.watch?.({ name: access.buffer, place, kind: 'atomic' });
    const given = at(this.#value(value), 0);
    if (op === 'compareExchange') {
      const wanted = expected === undefined ? old : at(this.#value(expected), 0);
      memory.elements[place] = old === wanted ? given : old;
    } else if (op === 'exchange') memory.elements[place] = given;
    else memory.elements[place] = combined(memory.dtype, op, [old, given]);
    return old;
  }

  #check({ name, value, extent, site, wraps, count }: Stmt & { readonly kind: 'check' }): void {
    const size = BigInt(this.#index(extent));
    const present = count === undefined ? value.type.lanes : this.#index(count);
    const checked = this.#value(value).map((lane, position) => {
      const index = wraps && BigInt(lane) < 0n ? BigInt(lane) + size : BigInt(lane);
      if (index >= 0n && index < size) return index;
      if (position < present) this.status = site + 1;
      return 0n;
    });
    this.#names.set(name, checked);
  }

  #tell(statement: Stmt & { readonly kind: 'print' | 'fail' | 'bounds' }): void {
    if (statement.kind === 'bounds' && !this.#isOutside(statement)) return;
    if (statement.kind !== 'print') {
      this.status = statement.site + 1;
      this.#hasFailed = true;
      return;
    }
    const line = printLine(statement.parts, (part) => at(this.#value(part), 0));
    this.#run.print?.(this.#index(statement.unit), line);
  }

  #isOutside({ access, count, mask, size }: BoundsStmt): boolean {
    const elements = this.#index(size);
    const places = this.#places(access, mask === undefined ? undefined : this.#value(mask), this.#index(count));
    return places.some((place) => place !== undefined && (place < 0 || place >= elements));
  }

  #move(statement: Stmt & { readonly kind: 'transpose' | 'sort' }): void {
    moveElements(statement, {
      index: (index) => this.#index(index),
      read: (name, place) => this.#element(get(this.#memory, name), name, place),
      write: (name, place, value) => {
        const { elements } = get(this.#memory, name);
        if (place < 0 || place >= elements.length) this.#fail(`writes ${name}[${String(place)}]`);
        elements[place] = value;
      },
    });
  }
}
