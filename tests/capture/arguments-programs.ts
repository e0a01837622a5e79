// What a call passed: how many arguments, which are one object, what they hold and what functions are found in them.
import { arange, ones, slice } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { program } from './program.ts';
import type { Programs } from './program.ts';

const three = (): Tensor => arange(3).to('f32');
const twice = (x: Tensor): Tensor => x.mul(2);
const thrice = (x: Tensor): Tensor => x.mul(3);
const mode: unique symbol = Symbol('mode');
interface Acting {
  act(x: Tensor): Tensor;
}

class Parent implements Acting {
  act(x: Tensor): Tensor {
    return twice(x);
  }
}
class Child extends Parent {
  override act(x: Tensor): Tensor {
    return super.act(x).neg();
  }
}

export const argumentsPrograms: Programs = {
  'an argument that is given later': program({
    make: () => (x: Tensor, y?: Tensor) => (y === undefined ? x.mul(1) : x.add(y)),
    calls: (f) => [f(three()), f(three(), three()), f(three())],
    graphs: 2,
    recompiles: 1,
  }),
  'a default value': program({
    make:
      () =>
      (x: Tensor, mode = 'neg') =>
        mode === 'neg' ? x.neg() : x.mul(1),
    calls: (f) => [f(three()), f(three(), 'id'), f(three(), undefined)],
    graphs: 3,
    recompiles: 2,
  }),
  'rest arguments': program({
    make:
      () =>
      (...all: Tensor[]) =>
        all.reduce((sum, x) => sum.add(x)).mul(1),
    calls: (f) => [f(three()), f(three(), three()), f(three(), three(), three()), f(three(), three())],
    graphs: 3,
    recompiles: 2,
  }),
  'the number of arguments itself': program({
    make: () =>
      function (x: Tensor, ..._: unknown[]) {
        return x.add(arguments.length);
      },
    calls: (f) => [f(three()), f(three(), undefined), f(three())],
    graphs: 2,
    recompiles: 1,
  }),
  'keys of an options object': program({
    make: () => (x: Tensor, o: Record<string, unknown>) => x.add(Object.keys(o).length).add('k' in o ? 10 : 0),
    calls: (f) => [f(three(), {}), f(three(), { k: null }), f(three(), { z: null })],
    graphs: 3,
    recompiles: 2,
  }),
  'two arguments that become one': program({
    make: () => (x: Tensor, y: Tensor) => (x === y ? x.mul(2) : x.mul(3)),
    calls: (f) => {
      const [a, b] = [three(), three()];
      return [f(a, b), f(a, a), f(b, a), f(b, b)];
    },
    graphs: 2,
    recompiles: 1,
  }),
  'a set of the arguments': program({
    make:
      () =>
      (...all: Tensor[]) =>
        three()
          .add(new Set(all).size)
          .add(all.indexOf(all.at(-1) ?? three())),
    calls: (f) => {
      const [a, b] = [three(), three()];
      return [f(a, b, three()), f(a, b, a), f(a, a, b), f(a, b, b)];
    },
    graphs: 4,
    recompiles: 3,
  }),
  'many arguments, of which two become one': program({
    make: () => (all: Tensor[]) => three().add(new Set(all).size),
    calls: (f) => {
      const all = Array.from({ length: 9 }, three);
      return [f(all), f([...all]), f([...all.slice(0, 8), all[0] ?? three()])];
    },
    graphs: 2,
    recompiles: 1,
  }),
  'objects that become one': program({
    make: () => (x: Tensor, a: object, b: object) => x.add(a === b ? 1 : 2),
    calls: (f) => {
      const [one, other] = [{ k: 'a' }, { k: 'a' }];
      return [f(three(), one, other), f(three(), one, one), f(three(), other, one)];
    },
    graphs: 2,
    recompiles: 1,
  }),
  'an object that contains itself': program({
    make: () => (x: Tensor, o: { self?: unknown; flag: boolean }) => ((o.self as typeof o).flag ? x.neg() : x.mul(1)),
    calls: (f) => {
      const o: { self?: unknown; flag: boolean } = { flag: true };
      o.self = o;
      const first = f(three(), o);
      o.flag = false;
      return [first, f(three(), o)];
    },
    graphs: 2,
    recompiles: 1,
  }),
  'a method that is put on the instance, and taken away': program({
    make: () => (x: Tensor, o: Acting) => o.act(x),
    calls: (f) => {
      class A implements Acting {
        act(x: Tensor): Tensor {
          return twice(x);
        }
      }
      const o: Acting = new A();
      const before = f(three(), o);
      o.act = thrice;
      const patched = f(three(), o);
      Reflect.deleteProperty(o, 'act');
      return [before, patched, f(three(), o)];
    },
    graphs: 2,
    recompiles: 1,
  }),
  'a method of a base class that is replaced': program({
    make: () => (x: Tensor, o: Acting) => o.act(x),
    calls: (f) => {
      class Base implements Acting {
        act(x: Tensor): Tensor {
          return twice(x);
        }
      }
      class Derived extends Base {}
      const o = new Derived();
      const before = f(three(), o);
      Base.prototype.act = thrice;
      return [before, f(three(), o)];
    },
    graphs: 2,
    recompiles: 1,
  }),
  'a method that is called through super, and replaced': program({
    make: () => (x: Tensor, o: Acting) => o.act(x),
    calls: (f) => {
      class Base implements Acting {
        act(x: Tensor): Tensor {
          return this.other(x);
        }
        other(x: Tensor): Tensor {
          return twice(x);
        }
      }
      class Middle extends Base {
        override act(x: Tensor): Tensor {
          return super.act(x).add(1);
        }
        override other(x: Tensor): Tensor {
          return super.other(x);
        }
      }
      class Derived extends Middle {
        override act(x: Tensor): Tensor {
          return super.act(x).neg();
        }
      }
      const o = new Derived();
      const results = [f(three(), o)];
      Base.prototype.act = thrice;
      results.push(f(three(), o));
      Middle.prototype.act = twice;
      results.push(f(three(), o));
      return [...results, f(three(), o)];
    },
    graphs: 3,
    recompiles: 2,
  }),
  'a getter and a static method that are called through super, and replaced': program({
    make: () => (x: Tensor, o: { readonly flag: boolean }, C: Acting) => (o.flag ? C.act(x) : x.neg()),
    calls: (f) => {
      class A {
        static act(x: Tensor): Tensor {
          return twice(x);
        }
        readonly on = true;
        get flag(): boolean {
          return this.on;
        }
      }
      class B extends A {
        static override act(x: Tensor): Tensor {
          return super.act(x).add(1);
        }
        override get flag(): boolean {
          return super.flag;
        }
      }
      const results = [f(three(), new B(), B)];
      A.act = thrice;
      results.push(f(three(), new B(), B));
      Object.defineProperty(A.prototype, 'flag', { get: () => false });
      return [...results, f(three(), new B(), B)];
    },
    graphs: 3,
    recompiles: 2,
  }),
  'a method that calls super, compiled itself': program({
    make: () => Child.prototype.act,
    calls: (f) => {
      const before = f.call(new Child(), three());
      const { act } = Parent.prototype;
      Parent.prototype.act = thrice;
      const after = f.call(new Child(), three());
      Parent.prototype.act = act;
      return [before, after, f.call(new Child(), three())];
    },
    graphs: 2,
    recompiles: 1,
  }),
  'a property of a tensor that comes later, and goes': program({
    make: () => (x: Tensor & { scale?: number }) => x.mul(x.scale ?? 1).add(Object.hasOwn(x, 'scale') ? 10 : 0),
    calls: (f) => {
      const x: Tensor & { scale?: number } = three();
      const before = f(x);
      x.scale = 2;
      const added = f(x);
      Reflect.deleteProperty(x, 'scale');
      return [before, added, f(x), f(Object.assign(three(), { scale: 2 })), f(Object.assign(three(), { other: 2 }))];
    },
    graphs: 3,
    recompiles: 2,
  }),
  'a getter that is replaced': program({
    make: () => (x: Tensor, o: { readonly flag: boolean }) => (o.flag ? x.neg() : x.mul(1)),
    calls: (f) => {
      class A {
        readonly on = true;
        get flag(): boolean {
          return this.on;
        }
      }
      const o = new A();
      const before = f(three(), o);
      Object.defineProperty(A.prototype, 'flag', { get: () => false });
      return [before, f(three(), o)];
    },
    graphs: 2,
    recompiles: 1,
  }),
  'static fields, of the class and through the instance': program({
    make: () => (x: Tensor, C: { mode: string }, o: object) =>
      x.add(C.mode.length).add((o.constructor as unknown as { mode: string }).mode.length),
    calls: (f) => {
      class C {
        static mode = 'a';
        readonly own = 0;
      }
      const o = new C();
      const before = f(three(), C, o);
      C.mode = 'abc';
      return [before, f(three(), C, o)];
    },
    graphs: 2,
    recompiles: 1,
  }),
  'properties of a function, and its tensors': program({
    make: () => (x: Tensor, g: { flag?: boolean; w: Tensor }) => (g.flag === true ? x.neg() : x.mul(1)).mul(g.w),
    calls: (f) => {
      const g = Object.assign(() => 0, { w: ones([3]) });
      const before = f(three(), g);
      g.w = ones([3]).mul(7);
      const replaced = f(three(), g);
      return [before, replaced, f(three(), Object.assign(g, { flag: true }))];
    },
    graphs: 2,
    recompiles: 1,
  }),
  'names of an instance that are asked for': program({
    make: () => (x: Tensor, o: object) => x.add('z' in o ? 1 : 0).add(Object.keys(o).length * 10),
    calls: (f) => {
      class A {
        a = 1;
      }
      const o = new A();
      const before = f(three(), o);
      return [before, f(three(), Object.assign(o, { z: 2 })), f(three(), new A())];
    },
    graphs: 2,
    recompiles: 1,
  }),
  'a property whose key is a symbol': program({
    make: () => (x: Tensor, o: { readonly [mode]: boolean }) => (o[mode] ? x.neg() : x.mul(1)),
    calls: (f) => [f(three(), { [mode]: true }), f(three(), { [mode]: false })],
    graphs: 2,
    recompiles: 1,
  }),
  'where a view begins in its storage': program({
    make: () => (x: Tensor) => x.add(x.storageOffset),
    calls: (f) => {
      const whole = arange(24).to('f32').reshape([4, 6]);
      const parts = [slice(0, 2), slice(1, 3), slice(2, 4)].map((part) => whole.at(part));
      return [...parts.map((part) => f(part)), ...parts.map((part) => f(part))];
    },
    graphs: 3,
    recompiles: 2,
  }),
};
