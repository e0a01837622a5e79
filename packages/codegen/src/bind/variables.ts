// Variables of a kernel that carry a state from one point to the next.
import { at } from '@tsinductor/base';
import type { Value } from '@tsinductor/ir';
import type { KernelWriter } from './kernel-writer.ts';

/** A new variable with a value. */
export function declareVariable(writer: KernelWriter, base: string, value: Value): Value {
  const name = writer.fresh(base);
  writer.emit({ kind: 'var', name, value });
  return { kind: 'name', name, type: value.type };
}

/** Sets variables all at once: a value that is another of them is the one from before. */
export function assignVariables(writer: KernelWriter, variables: readonly Value[], values: readonly Value[]): void {
  const names = new Set(variables.map(nameOf));
  const safe = values.map((value, slot) => {
    const name = nameOf(value);
    if (name === undefined || !names.has(name) || name === nameOf(at(variables, slot))) return value;
    const copy = writer.fresh('previous');
    writer.emit({ kind: 'let', name: copy, value });
    return { kind: 'name' as const, name: copy, type: value.type };
  });
  safe.forEach((value, slot) => {
    const name = nameOf(at(variables, slot));
    if (name !== undefined && name !== nameOf(value)) writer.emit({ kind: 'set', name, value });
  });
}

const nameOf = (value: Value): string | undefined => (value.kind === 'name' ? value.name : undefined);
