// What a target language answers so that the shared printer can write a kernel in it. A record without defaults:
// composition, never inheritance. Text that needs a prelude function or type carries its definition along, so that a
// unit has exactly the definitions it uses.
import type { DType } from '@tsinductor/base';
import type {
  AtomicOp,
  FetchOp,
  Launch,
  LoadInstructions,
  Prefetch,
  ScalarConstant,
  SortStmt,
  Stmt,
  TargetOpName,
  ValueType,
} from '@tsinductor/ir';
import type { PointwiseName } from '@tsinductor/ops';

/** A type or function of the prelude. `text` may be empty where the name is built in. */
export interface Definition {
  readonly name: string;
  readonly text: string;
  readonly needs: readonly Definition[];
}

/** An expression as text. `primary`: it needs no parentheses, wherever it stands. */
export interface Expression {
  readonly text: string;
  readonly primary: boolean;
  readonly needs: readonly Definition[];
}

/** An access with everything printed. */
export interface AccessText {
  readonly buffer: string;
  readonly at: string;
  readonly layout: 'contiguous' | 'strided' | 'gather';
  /** strided: the distance; gather: the vector of offsets. */
  readonly step: string;
  readonly offsets: ValueType | undefined;
  readonly align: number;
  readonly count: string | undefined;
  readonly mask: string | undefined;
}

/** How what is read comes into a vector. */
export interface LoadText {
  readonly by: LoadInstructions | undefined;
  /** The distance of lanes that are permuted. */
  readonly step: number | undefined;
  /** What stands for lanes that are left out. */
  readonly other: Expression | undefined;
}

export interface ApplyText {
  readonly op: PointwiseName;
  readonly type: ValueType;
  readonly operands: readonly ValueType[];
  readonly args: readonly Expression[];
}

export interface TargetText {
  readonly op: TargetOpName;
  readonly type: ValueType;
  readonly args: readonly Expression[];
  readonly numbers: readonly number[];
}

export interface TransposeText {
  readonly dtype: DType;
  readonly from: string;
  readonly fromStep: string;
  readonly to: string;
  readonly toStep: string;
  readonly rows: string;
  readonly columns: string;
  readonly tile: number;
  /** The tile is known to be whole. */
  readonly whole: boolean;
  /** Whole tiles are written by non-temporal stores. */
  readonly isNonTemporal: boolean;
}

/** Elements of a row: where the first one is, and how far apart they are. */
export interface RowText {
  readonly address: string;
  readonly step: string;
}

export interface SortText extends Pick<SortStmt, 'dtype' | 'descending' | 'threads'> {
  readonly keys: RowText;
  readonly places: RowText | undefined;
  readonly values: RowText | undefined;
  readonly indices: RowText | undefined;
  readonly length: string;
  readonly kept: string;
  /** Positions in the row may need more than 32 bits. */
  readonly isLong: boolean;
  readonly scratch: string;
}

interface CheckText {
  readonly type: ValueType;
  readonly value: string;
  readonly extent: string;
  readonly site: number;
  /** Negative ones count from the end. */
  readonly wraps: boolean;
  readonly count: string | undefined;
}

/** A parameter of a kernel. */
export interface ParameterText {
  readonly kind: 'buffer' | 'size' | 'status' | 'log';
  readonly name: string;
  /** The type of an element of a buffer, or of a size. */
  readonly type: string;
  readonly isWritten: boolean;
  /** Another parameter points to the same memory. */
  readonly isShared: boolean;
}

export interface KernelText {
  readonly name: string;
  /** What stands before the return type. */
  readonly linkage: string;
  readonly parameters: readonly ParameterText[];
  /** The type of index arithmetic. */
  readonly index: string;
  readonly launch: Launch | undefined;
}

/** How a kernel takes its arguments. */
export interface KernelFrame {
  /** What is declared before it. */
  readonly struct: string;
  readonly prototype: string;
  /** The lines in front of its statements; `used` tells which names these mention. */
  opening(used: (name: string) => boolean): readonly string[];
  /** The same for a function of its own that runs a part of it. */
  readonly part: {
    prototype(text: { readonly name: string; readonly begin: string; readonly end: string }): string;
    opening(used: (name: string) => boolean): readonly string[];
  };
}

interface ScratchText {
  readonly name: string;
  readonly dtype: DType;
  readonly size: number;
  /** Bytes into the shared memory, for scratch that is shared. */
  readonly shared: number | undefined;
}

export interface ShuffleText {
  readonly type: ValueType;
  readonly value: string;
  readonly mode: (Stmt & { readonly kind: 'shuffle' })['mode'];
  readonly distance: string;
}

/** An update that gives what was there before. */
export interface FetchText {
  readonly op: FetchOp;
  readonly type: ValueType;
  readonly buffer: string;
  readonly at: string;
  readonly value: string;
  /** compareExchange only. */
  readonly expected: string | undefined;
}

/** A copy that is under way until it is waited for. */
export interface CopyText {
  readonly type: ValueType;
  /** Addresses. */
  readonly to: string;
  readonly from: string;
  readonly mask: string | undefined;
}

export interface MatrixLoadText {
  readonly names: readonly string[];
  readonly address: string;
  readonly transposed: boolean;
}

export interface MatrixMultiplyText {
  readonly dtype: DType;
  /** The address of the four sums. */
  readonly sum: string;
  readonly left: readonly string[];
  readonly right: readonly string[];
}

export interface AtomicText {
  readonly op: AtomicOp;
  readonly type: ValueType;
  readonly buffer: string;
  readonly at: string;
  readonly value: string;
}

export interface Dialect {
  readonly name: string;
  /** Words that cannot be a name. */
  readonly reserved: ReadonlySet<string>;
  readonly type: (type: ValueType) => Expression;
  /** An element in memory. */
  readonly element: (dtype: DType) => Expression;
  readonly constant: (type: ValueType, value: ScalarConstant) => Expression;
  /** A primitive op (one without decomposition at this dtype). */
  readonly apply: (apply: ApplyText) => Expression;
  /** An op that passes for this dialect's machines put in the place of one of the table. */
  readonly target: (target: TargetText) => Expression;
  readonly cast: (value: Expression, from: ValueType, to: ValueType) => Expression;
  readonly bitcast: (value: Expression, from: ValueType, to: ValueType) => Expression;
  readonly broadcast: (value: Expression, to: ValueType) => Expression;
  readonly half: (value: Expression, from: ValueType, part: 'low' | 'high') => Expression;
  /** Lanes of two vectors of one type, by their numbers in both together. */
  readonly rearranged: (value: Expression, other: Expression, order: readonly number[]) => Expression;
  readonly first: (count: string, type: ValueType) => Expression;
  /** 0, 1, 2 ... in the lanes of an integer type. */
  readonly ramp: (type: ValueType) => Expression;
  /** Index arithmetic that no operator has, on scalars or vectors of i64 and i32. */
  readonly indexCall: (
    name: 'minimum' | 'maximum' | 'floorDivide' | 'modulo',
    args: readonly string[],
    type: ValueType,
  ) => Expression;
  /** A scalar index beside vectors of `type`. */
  readonly indexScalar: (text: string, type: ValueType) => string;
  readonly load: (access: AccessText, type: ValueType, load: LoadText) => Expression;
  readonly store: (access: AccessText, type: ValueType, value: StoreValue) => Expression;
  readonly check: (check: CheckText) => Expression;
  readonly transpose: (transpose: TransposeText) => Expression;
  readonly sort: (sort: SortText) => Expression;
  readonly fence: () => Expression;
  readonly prefetch: (address: string, what: Pick<Prefetch, 'intent' | 'into'>) => Expression;
  /** A declaration of scratch memory. */
  readonly scratch: (scratch: ScratchText) => Expression;
  readonly barrier: (scope: 'block' | 'warp') => Expression;
  readonly shuffle: (shuffle: ShuffleText) => Expression;
  readonly copyAsync: (copy: CopyText) => Expression;
  readonly copies: (copies: Stmt & { readonly kind: 'copies' }) => Expression;
  readonly matrixLoad: (load: MatrixLoadText) => Expression;
  readonly matrixMultiply: (multiply: MatrixMultiplyText) => Expression;
  readonly atomic: (atomic: AtomicText) => Expression;
  readonly fetch: (fetch: FetchText) => Expression;
  readonly frame: (kernel: KernelText) => KernelFrame;
  /** What stands in front of a loop that may be unrolled. */
  readonly unrollHint: (times: number) => string;
  /** How a function that is inlined wherever it is called begins: `static inline float32x16 exp_f32x16`. */
  readonly inlineFunction: (signature: string) => string;
  /** How a function begins that is too long to be copied to each of its calls. */
  readonly longFunction: (signature: string) => string;
  /** How a function that is seldom called begins, which is to stay out of the way of the code around its calls. */
  readonly rareFunction: (signature: string) => string;
  /** Whether a bool of `type` is false in every lane: what code may branch on. */
  readonly nowhere: (mask: Expression, type: ValueType) => Expression;
  readonly parallelCall: (call: ParallelText) => Expression;
  /** Waits until the number at `turn` is `unit`: until the chunks of lower units are done. */
  readonly awaitTurn: (turn: TurnText) => Expression;
  /** Makes it `unit`: this chunk, too, is done. */
  readonly passTurn: (turn: TurnText) => Expression;
  readonly print: (line: LineText) => Expression;
  /** Says that a unit failed; what runs it returns then. */
  readonly fail: (failure: FailureText) => Expression;
  /** Whether an element is outside of its buffer: says then that the unit failed, which returns. */
  readonly isOutside: (bounds: BoundsText) => Expression;
  /** The type of the memory that printed lines and failures go to, a parameter then; undefined where the machine has its own. */
  readonly printLog: Expression | undefined;
}

/** Where the unit stands whose turn it is, and a unit. */
interface TurnText {
  readonly turn: string;
  readonly unit: string;
}

/** A line for whoever runs the kernel: text, and scalars as expressions. */
export interface LineText {
  readonly unit: string;
  readonly parts: readonly (string | { readonly type: ValueType; readonly text: string })[];
}

/** Which unit failed, and why: a site, and for people a text and a place in the user's source. */
export interface FailureText {
  readonly unit: string;
  readonly site: number;
  readonly message: string;
  readonly file: string;
  readonly line: number;
}

/** Elements that may be outside of a buffer. */
export interface BoundsText {
  readonly run: { readonly at: string; readonly step: string; readonly count: string };
  /** Of each lane its own, in place of a run. */
  readonly offsets: { readonly type: ValueType; readonly text: string } | undefined;
  readonly mask: { readonly type: ValueType; readonly text: string } | undefined;
  /** Elements of the buffer. */
  readonly size: string;
  readonly unit: string;
  readonly site: number;
}

interface StoreValue {
  readonly text: string;
  readonly hint: 'non-temporal' | undefined;
}

interface ParallelText {
  /** The kernel, and the function that runs a part of it. */
  readonly kernel: string;
  readonly body: string;
  readonly total: string;
  readonly grain: string;
}

/** Collects definitions in an order in which each comes after what it needs. */
export class Definitions {
  readonly #ordered = new Map<string, Definition>();

  add(definitions: readonly Definition[]): void {
    for (const definition of definitions) {
      if (this.#ordered.has(definition.name)) continue;
      this.add(definition.needs);
      this.#ordered.set(definition.name, definition);
    }
  }

  get list(): readonly Definition[] {
    return [...this.#ordered.values()];
  }
}

export const primary = (text: string, needs: readonly Definition[] = []): Expression => ({
  text,
  primary: true,
  needs,
});
export const compound = (text: string, needs: readonly Definition[] = []): Expression => ({
  text,
  primary: false,
  needs,
});

/** The text of an expression where an operator stands beside it. */
export const operand = (expression: Expression): string =>
  expression.primary ? expression.text : `(${expression.text})`;
