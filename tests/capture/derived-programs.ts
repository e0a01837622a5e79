// Functions that are made of others outside of the compiled one: what those close over is followed as if they were called.
import { arange, customVjp, grad, hessian, jacrev, vmap } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { program } from './program.ts';
import type { Programs } from './program.ts';

const three = (): Tensor => arange(3).to('f32');
const table = { scale: 2 };

type OfOne = (x: Tensor) => Tensor;
const derivations: Readonly<Record<string, (loss: OfOne) => OfOne>> = {
  'the gradient': (loss) => grad(loss),
  'the Jacobian': (loss) => jacrev((x: Tensor) => loss(x).reshape([1])),
  'the Hessian': (loss) => hessian(loss),
  'the mapped gradient': (loss) => {
    const perSample = vmap(grad(loss));
    return (x) => perSample(x.reshape([3, 1]));
  },
  'a step with a gradient of its own': (loss) =>
    customVjp(loss, { forward: (x: Tensor) => [loss(x), x], backward: (x: Tensor, g: Tensor) => [x.mul(g)] }),
};

export const derivedPrograms: Programs = Object.fromEntries(
  Object.entries(derivations).map(([name, derive]) => [
    `a field that ${name} of a function reads`,
    program({
      make: () => derive((x) => x.mul(table.scale).square().sum()),
      calls: (f) => {
        const before = f(three());
        table.scale = 7;
        const after = f(three());
        table.scale = 2;
        return [before, after, f(three())];
      },
      graphs: 2,
      recompiles: 1,
    }),
  ]),
);
