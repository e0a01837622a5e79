// What a traced call handed to operators, written down so that traces for other numbers can be compared with it. In: calls as they
// are recorded. Out: their structure as text, and the numbers that stand in it, each with its place.
import { Buffer } from 'node:buffer';
import { numberDType, numberFits } from '@tsinductor/tensor/internal';
import type { BoundCall } from '@tsinductor/tensor/internal';
import { isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { isScalar, scalarNumber } from '@tsinductor/graph';
import type { Arg, Attr, Meta, SizeEnvironment } from '@tsinductor/graph';

/** A number in a call: `argument 1`, or `sizes 0 2` for an item of an attribute. */
export interface NumberPlace {
  readonly call: number;
  readonly where: string;
  readonly value: number;
  /** The dtype in which a number beside these tensors is reckoned with, where a 0-d tensor can stand for it. */
  readonly dtype: DType | undefined;
  /** Values for which the operator does something else than for all others: `x.pow(0.5)` is a root. */
  readonly special: ReadonlySet<number>;
}

/** A call with what was known of its tensors. */
export interface LoggedCall {
  readonly made: BoundCall;
  readonly metas: readonly Meta[];
  readonly sizes: SizeEnvironment;
}

const none: ReadonlySet<number> = new Set();

export class CallLog {
  readonly places: NumberPlace[] = [];
  readonly calls: LoggedCall[] = [];
  /** The elements of tensors that the program makes of values, which are the same in each call. */
  readonly literals: string[] = [];
  readonly #structure: string[] = [];

  note(call: LoggedCall, position: number): void {
    const { made } = call;
    const special = new Set(made.operator.scalarStandIns?.keys());
    const mayBeOpen = (value: number, dtype: DType): boolean =>
      numberFits(value, dtype) && (made.operator.refusesNegative !== true || isFloat(dtype));
    const place = (where: string, value: number, wanted?: DType): string => {
      const dtype = wanted !== undefined && mayBeOpen(value, wanted) ? wanted : undefined;
      this.places.push({ call: position, where, value, dtype, special: dtype === undefined ? none : special });
      return '#';
    };
    const isPointwise = made.operator.kind === 'pointwise';
    const args = made.args.map((arg: Arg, index) =>
      isScalar(arg) && isNumber(arg)
        ? place(
            `argument ${String(index)}`,
            scalarNumber(arg),
            isPointwise ? numberDType(arg.category, made.tensors) : undefined,
          )
        : JSON.stringify(arg),
    );
    const text = (attr: Attr, where: string): string => {
      if (typeof attr === 'number') return place(where, attr);
      if (Array.isArray(attr))
        return `[${attr.map((item: Attr, index) => text(item, `${where} ${String(index)}`)).join()}]`;
      if (isScalar(attr) && isNumber(attr)) return place(where, scalarNumber(attr));
      return JSON.stringify(attr);
    };
    const attrs = Object.entries(made.attrs).map(([name, attr]) => `${name}:${text(attr, name)}`);
    this.calls[position] = call;
    this.#structure.push(`${made.operator.name}(${[...args, ...attrs].join()})`);
  }

  noteLiteral(bytes: Uint8Array, { dtype, shape }: { readonly dtype: DType; readonly shape: readonly number[] }): void {
    this.literals.push(`${dtype}[${shape.join()}] ${Buffer.from(bytes).toString('base64')}`);
  }

  /** One line for each call. */
  get structure(): readonly string[] {
    return this.#structure;
  }
}

const isNumber = ({ category, value }: { readonly category: string; readonly value: unknown }): boolean =>
  category !== 'bool' && typeof value !== 'object';
