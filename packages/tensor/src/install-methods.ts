// Operators as methods of Tensor: for each entry of the table that is offered as one, a function on the prototype, and
// its in-place form with a trailing underscore where there is one. Static types: `generated/methods.ts`.
import { operators } from '@tsinductor/graph';
import { splitOptions } from './bound-call.ts';
import { answer, dispatch, dispatchInPlace } from './dispatch.ts';
import { isProperty } from './public-forms.ts';
import type { Tensor } from './tensor.ts';

type Method = (this: Tensor, ...given: unknown[]) => unknown;

export function installMethods(prototype: object): void {
  const define = (name: string, value: Method): void => {
    // What the class defines itself stays.
    if (!Object.hasOwn(prototype, name))
      Object.defineProperty(prototype, name, { value, writable: true, configurable: true });
  };
  for (const operator of operators.values()) {
    const { name } = operator;
    if (isProperty(operator)) {
      const get = function (this: Tensor): unknown {
        return dispatch(name, [this]);
      };
      if (!Object.hasOwn(prototype, name)) Object.defineProperty(prototype, name, { get, configurable: true });
    } else if (operator.forms.includes('method')) {
      const call = operator.isAnswer === true ? answer : dispatch;
      define(name, function (...given) {
        const { positional, named } = splitOptions(given);
        return call(name, [this, ...positional], named);
      });
    }
    if (operator.inPlace === true) {
      define(`${name}_`, function (...given) {
        const { positional, named } = splitOptions(given);
        return dispatchInPlace(name, [this, ...positional], named);
      });
    }
  }
}
