// The structure of a result: any nesting of arrays and plain objects around tensors and plain values. Taken apart once,
// when a function is traced; put together again at every call.
import { at } from '@tsinductor/base';
import { isTensor } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import { types } from 'node:util';
import { argumentTooDeep, deferredResult, unsupportedResult } from '../errors.ts';
import { isPlainObject } from './guard.ts';

export type ResultTemplate =
  | { readonly kind: 'output'; readonly index: number }
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'array'; readonly items: readonly ResultTemplate[] }
  | { readonly kind: 'object'; readonly entries: readonly (readonly [string, ResultTemplate])[] };

/** Takes `result` apart; the tensors go to `outputs`, each once. Throws UserError RESULT_UNSUPPORTED. */
export function takeApart(result: unknown, outputs: Tensor[]): ResultTemplate {
  const seen = new Map<Tensor, number>();
  const visit = (value: unknown, path: string, depth: number): ResultTemplate => {
    if (depth > 64) throw argumentTooDeep(path);
    if (isTensor(value)) {
      const index = seen.get(value) ?? outputs.push(value) - 1;
      seen.set(value, index);
      return { kind: 'output', index };
    }
    if (Array.isArray(value)) {
      return {
        kind: 'array',
        items: value.map((item, index) => visit(item, `${path}[${String(index)}]`, depth + 1)),
      };
    }
    if (isPlainObject(value)) {
      const entries = Object.entries(value);
      return { kind: 'object', entries: entries.map(([key, item]) => [key, visit(item, `${path}.${key}`, depth + 1)]) };
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

/** Puts a result together from a call's outputs. */
export function putTogether(template: ResultTemplate, outputs: readonly Tensor[]): unknown {
  switch (template.kind) {
    case 'output':
      return outputs[template.index] ?? at(outputs, template.index);
    case 'value':
      return template.value;
    case 'array':
      return template.items.map((item) => putTogether(item, outputs));
    case 'object': {
      const result: Record<string, unknown> = {};
      for (const [key, item] of template.entries) {
        const value = putTogether(item, outputs);
        Object.defineProperty(result, key, { value, enumerable: true, writable: true, configurable: true });
      }
      return result;
    }
  }
}
