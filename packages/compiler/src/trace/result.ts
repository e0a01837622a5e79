// The structure of a result: any nesting of arrays and plain objects around tensors and plain values. Taken apart once,
// when a function is traced; put together again at every call.
import { at } from '@tsinductor/base';
import { isTensor } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import { types } from 'node:util';
import { argumentTooDeep, deferredResult, unsupportedResult } from '../errors.ts';
import { memberPath } from './found.ts';
import { isPlainObject } from './guard.ts';

export type ResultTemplate =
  | { readonly kind: 'output'; readonly index: number }
  | { readonly kind: 'value'; readonly value: unknown }
  /** What was passed itself: the object in a slot of the guards. */
  | { readonly kind: 'given'; readonly slot: number }
  /** A list or an object that is in the result twice: the one that was begun as the `index`th. */
  | { readonly kind: 'again'; readonly index: number }
  | { readonly kind: 'array'; readonly items: readonly ResultTemplate[] }
  | { readonly kind: 'object'; readonly entries: readonly (readonly [string | symbol, ResultTemplate])[] };

/**
 * Takes `result` apart; the tensors go to `outputs`, each once. `slotOf` tells of a stand-in what it stands for. Throws UserError
 * RESULT_UNSUPPORTED.
 */
export function takeApart(
  result: unknown,
  outputs: Tensor[],
  slotOf: (value: object) => number | undefined,
): ResultTemplate {
  const seen = new Map<Tensor, number>();
  const begun = new Map<object, number>();
  const visit = (value: unknown, path: string, depth: number): ResultTemplate => {
    if (depth > 64) throw argumentTooDeep(path);
    if (isTensor(value)) {
      const index = seen.get(value) ?? outputs.push(value) - 1;
      seen.set(value, index);
      return { kind: 'output', index };
    }
    if (typeof value === 'object' && value !== null) {
      const slot = slotOf(value);
      if (slot !== undefined) return { kind: 'given', slot };
      const index = begun.get(value);
      if (index !== undefined) return { kind: 'again', index };
      begun.set(value, begun.size);
    }
    if (Array.isArray(value)) {
      return {
        kind: 'array',
        items: value.map((item, index) => visit(item, `${path}[${String(index)}]`, depth + 1)),
      };
    }
    if (isPlainObject(value)) {
      const keys = Reflect.ownKeys(value).filter((key) => Object.prototype.propertyIsEnumerable.call(value, key));
      const entryOf = (key: string | symbol): readonly [string | symbol, ResultTemplate] => [
        key,
        visit((value as Readonly<Record<PropertyKey, unknown>>)[key], memberPath(path, key), depth + 1),
      ];
      return { kind: 'object', entries: keys.map(entryOf) };
    }
    refuseDeferred(value, path);
    if (typeof value === 'object' && value !== null) throw unsupportedResult(path, value);
    return { kind: 'value', value };
  };
  return visit(result, 'result', 0);
}

/** Throws UserError ASYNC_FUNCTION for a promise or a running generator: what they do later is done outside of the call. */
export function refuseDeferred(value: unknown, path: string): void {
  if (types.isPromise(value)) {
    // Its own failure, on tensors that are no longer recorded, would end the process.
    value.catch(() => undefined);
    throw deferredResult(path, value);
  }
  if (types.isGeneratorObject(value)) throw deferredResult(path, value);
}

/** What a result is put together of in a call. */
interface Parts {
  readonly outputs: readonly Tensor[];
  /** Those of the guards. */
  readonly slots: readonly unknown[];
}

/** Puts a result together; `begun` are the lists and objects of it so far. */
export function putTogether(template: ResultTemplate, parts: Parts, begun: unknown[] = []): unknown {
  switch (template.kind) {
    case 'output':
      return parts.outputs[template.index] ?? at(parts.outputs, template.index);
    case 'value':
      return template.value;
    case 'given':
      return parts.slots[template.slot];
    case 'again':
      return begun[template.index];
    case 'array': {
      const result: unknown[] = [];
      begun.push(result);
      for (const item of template.items) result.push(putTogether(item, parts, begun));
      return result;
    }
    case 'object': {
      const result: Record<PropertyKey, unknown> = {};
      begun.push(result);
      for (const [key, item] of template.entries) {
        const value = putTogether(item, parts, begun);
        Object.defineProperty(result, key, { value, enumerable: true, writable: true, configurable: true });
      }
      return result;
    }
  }
}
