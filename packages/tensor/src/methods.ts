// Tensor with all its methods: the class, the operators of the table, subscripts, what depends on values, random
// fills, devices. The package's index exports the
// class from here, so that whoever has a Tensor has its methods.
import { gradientMembers } from './autograd/tensor-methods.ts';
import { choiceMethods } from './choice.ts';
import { copiedByJest, toStringTag } from './compared.ts';
import { dataDependentMethods } from './data-dependent.ts';
import { deviceMethods } from './transfer.ts';
import { installMethods } from './install-methods.ts';
import { randomMethods } from './random-fills.ts';
import { subscriptMethods } from './subscript.ts';
import { Tensor } from './tensor.ts';

for (const [name, value] of Object.entries({
  ...subscriptMethods,
  ...dataDependentMethods,
  ...randomMethods,
  ...deviceMethods,
  ...choiceMethods,
})) {
  Object.defineProperty(Tensor.prototype, name, { value, writable: true, configurable: true });
}
Object.defineProperties(Tensor.prototype, gradientMembers);
Object.defineProperty(Tensor.prototype, Symbol.toStringTag, toStringTag);
Object.defineProperties(Tensor.prototype, copiedByJest);
installMethods(Tensor.prototype);

export { Tensor };
