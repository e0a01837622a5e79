// The variables of a body while it is compiled. A scope sees the scopes around it; assigning replaces what a name means.
import type { KernelValue } from './value.ts';

interface Variable {
  value: KernelValue;
  readonly isConstant: boolean;
}

export class Scope {
  readonly #parent: Scope | undefined;
  readonly #variables = new Map<string, Variable>();

  constructor(parent?: Scope) {
    this.#parent = parent;
  }

  declare(name: string, value: KernelValue, isConstant: boolean): void {
    this.#variables.set(name, { value, isConstant });
  }

  lookup(name: string): KernelValue | undefined {
    return this.#find(name)?.value;
  }

  has(name: string): boolean {
    return this.#find(name) !== undefined;
  }

  /** Whether the name was declared in this very scope. */
  hasOwn(name: string): boolean {
    return this.#variables.has(name);
  }

  /** Gives an existing variable another value; says why it cannot. */
  assign(name: string, value: KernelValue): 'done' | 'unknown' | 'constant' {
    const variable = this.#find(name);
    if (variable === undefined) return 'unknown';
    if (variable.isConstant) return 'constant';
    variable.value = value;
    return 'done';
  }

  #find(name: string): Variable | undefined {
    const own = this.#variables.get(name);
    return own === undefined && this.#parent !== undefined ? this.#parent.#find(name) : own;
  }

  /** Every visible name, innermost first: for suggestions. */
  names(): readonly string[] {
    return [...this.#variables.keys(), ...(this.#parent?.names() ?? [])];
  }
}
