// Definitions of the prelude, each made once: a kernel asks for the same few functions at every statement, and their text
// is only needed where the first use of each puts it into a unit. Belongs to one dialect, so to one instruction set.
import type { Definition } from '@tsinductor/codegen';
import type { ValueType } from '@tsinductor/ir';
import type { PreludeName } from '@tsinductor/ops';
import type { Isa } from '../machine/isa.ts';
import { opFunction } from './op-functions.ts';

/** The functions that ops of the table are spelled by. */
type OpName = Exclude<PreludeName, 'where_'>;

/** What a definition depends on besides its type. */
type Detail = string | number | boolean | undefined;

/** Makes the definition for a type; the same details give the same definition. */
type Maker<D extends readonly Detail[]> = (type: ValueType, ...details: D) => Definition;

export class Prelude {
  readonly isa: Isa;
  readonly #byMaker = new Map<unknown, Map<string, Definition>>();
  readonly #op = (type: ValueType, name: OpName, arity: number): Definition =>
    opFunction({ name, type, isa: this.isa }, arity);

  constructor(isa: Isa) {
    this.isa = isa;
  }

  /** The function that spells an op of the table. */
  op(name: OpName, type: ValueType, arity: number): Definition {
    return this.of(this.#op, type, name, arity);
  }

  /** What `make` gives for the type and the details. `make` is a function that is written once, not one made for the call. */
  of<D extends readonly Detail[]>(make: Maker<D>, type: ValueType, ...details: D): Definition {
    let made = this.#byMaker.get(make);
    if (made === undefined) {
      made = new Map();
      this.#byMaker.set(make, made);
    }
    const key = `${type.dtype} ${String(type.lanes)} ${details.join(' ')}`;
    let definition = made.get(key);
    if (definition === undefined) {
      definition = make(type, ...details);
      made.set(key, definition);
    }
    return definition;
  }
}
