// What a traced call handed to operators, written down so that traces for other numbers can be compared with it. In: calls as they
// are recorded. Out: their structure as text, and the numbers that stand in it, each with its place.
import type { BoundCall } from '@tsinductor/tensor/internal';
import { dtypeInfo, isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { isScalar, scalarNumber } from '@tsinductor/graph';
import type { Arg, Attr } from '@tsinductor/graph';
import { fits } from './number-inputs.ts';

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

const none: ReadonlySet<number> = new Set();

export class CallLog {
  readonly places: NumberPlace[] = [];
  readonly #structure: string[] = [];

  note(call: BoundCall, position: number): BoundCall {
    const special = new Set(call.operator.scalarStandIns?.keys());
    const place = (where: string, value: number, wanted?: DType): string => {
      const dtype = wanted !== undefined && fits(value, wanted) ? wanted : undefined;
      this.places.push({ call: position, where, value, dtype, special: dtype === undefined ? none : special });
      return '#';
    };
    const dtype = call.operator.kind === 'pointwise' ? operandDType(call) : undefined;
    const args = call.args.map((arg: Arg, index) =>
      isScalar(arg) && isNumber(arg)
        ? place(`argument ${String(index)}`, scalarNumber(arg), scalarDType(arg, dtype))
        : JSON.stringify(arg),
    );
    const text = (attr: Attr, where: string): string => {
      if (typeof attr === 'number') return place(where, attr);
      if (Array.isArray(attr))
        return `[${attr.map((item: Attr, index) => text(item, `${where} ${String(index)}`)).join()}]`;
      if (isScalar(attr) && isNumber(attr)) return place(where, scalarNumber(attr));
      return JSON.stringify(attr);
    };
    const attrs = Object.entries(call.attrs).map(([name, attr]) => `${name}:${text(attr, name)}`);
    this.#structure.push(`${call.operator.name}(${[...args, ...attrs].join()})`);
    return call;
  }

  get structure(): string {
    return this.#structure.join('\n');
  }
}

const isNumber = ({ category, value }: { readonly category: string; readonly value: unknown }): boolean =>
  category !== 'bool' && typeof value !== 'object';

/** The dtype of a call's tensors, beside masks, if it is one; numbers beside half floats are not rounded to halves. */
function operandDType({ tensors }: BoundCall): DType | undefined {
  const dtypes = new Set(tensors.map(({ dtype }) => dtype).filter((dtype) => dtype !== 'bool'));
  const [dtype] = dtypes;
  return dtypes.size === 1 && dtype !== 'f16' && dtype !== 'bf16' ? dtype : undefined;
}

/** A whole number beside whole numbers is one of theirs; a fraction there would make another dtype of them. */
const scalarDType = ({ category }: { readonly category: string }, dtype: DType | undefined): DType | undefined =>
  dtype === undefined || isFloat(dtype) || (category === 'int' && dtypeInfo[dtype].category !== 'float')
    ? dtype
    : undefined;
