// A method compiled by a decorator, of either kind: the standard ones, and those of `experimentalDecorators`.
import { allowInGraph, compile, disable, full } from 'tsinductor';
import type { Tensor } from 'tsinductor';

class Model {
  readonly weight: Tensor = full([3], 2);
  @compile
  forward(x: Tensor): Tensor {
    return x.mul(this.weight).add(this.shift());
  }
  @compile({ fullgraph: true })
  doubled(x: Tensor): Tensor {
    return x.mul(this.weight);
  }
  @disable({ reason: 'it is called outside' })
  plain(x: Tensor): Tensor {
    return x.mul(3);
  }
  @allowInGraph
  shift(): number {
    return 1;
  }
}

const model = new Model();
const x = full([3], 4);
const seen: unknown = [model.forward(x), model.doubled(x), model.plain(x)].map((y) => y.toArray());
export const result: string = JSON.stringify(seen);
if (result !== '[[9,9,9],[8,8,8],[12,12,12]]') throw new Error(result);
