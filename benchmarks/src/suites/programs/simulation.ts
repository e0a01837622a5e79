// Steps of simulations: particles, grids and differential equations.
import { stack, zeros } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { floats, read, sized } from './program.ts';
import type { SizedProgram } from './program.ts';

/** Accelerations of bodies that attract each other, softened where they are close. */
const nBody = sized('accelerations of N bodies', { full: 500, small: 7 }, (n) => {
  const [places, masses] = [floats(3 * n, 21), floats(n, 22, [0.5, 1])];
  const softening = 0.01;
  return {
    inputs: [
      { array: places, shape: [3, n] },
      { array: masses, shape: [n] },
    ],
    tensors: (place, mass) => {
      const between = place.unsqueeze(1).sub(place.unsqueeze(2));
      const squared = between.square().sum(0).add(softening);
      const pull = mass.div(squared.mul(squared.sqrt()));
      return [between.mul(pull).sum(2)];
    },
    plain: () => {
      const out = new Float32Array(3 * n);
      for (let i = 0; i < n; i += 1) {
        const [xi, yi, zi] = [read(places, i), read(places, n + i), read(places, 2 * n + i)];
        let [ax, ay, az] = [0, 0, 0];
        for (let j = 0; j < n; j += 1) {
          const [x, y, z] = [read(places, j) - xi, read(places, n + j) - yi, read(places, 2 * n + j) - zi];
          const squared = x * x + y * y + z * z + softening;
          const pull = read(masses, j) / (squared * Math.sqrt(squared));
          ax += x * pull;
          ay += y * pull;
          az += z * pull;
        }
        [out[i], out[n + i], out[2 * n + i]] = [ax, ay, az];
      }
      return [out];
    },
    tolerance: 1e-4,
  };
});

/** A sweep sets each inner point to the mean of its neighbours, and the border to 0. */
const jacobi = sized('Jacobi, 20 sweeps', { full: 256, small: 9 }, (side) => {
  const start = floats(side * side, 23, [0, 1]);
  const sweeps = 20;
  return {
    inputs: [{ array: start, shape: [side, side] }],
    tensors: (given) => {
      let u = given;
      const inner = side - 2;
      const neighbour = (row: number, column: number): Tensor => u.narrow(0, row, inner).narrow(1, column, inner);
      for (let sweep = 0; sweep < sweeps; sweep += 1)
        u = neighbour(0, 1).add(neighbour(2, 1)).add(neighbour(1, 0)).add(neighbour(1, 2)).mul(0.25).pad([1, 1, 1, 1]);
      return [u];
    },
    plain: () => {
      let [u, next] = [Float32Array.from(start), new Float32Array(side * side)];
      for (let sweep = 0; sweep < sweeps; sweep += 1) {
        for (let row = 1; row < side - 1; row += 1)
          for (let at = row * side + 1; at < row * side + side - 1; at += 1)
            next[at] = 0.25 * (read(u, at - side) + read(u, at + side) + read(u, at - 1) + read(u, at + 1));
        [u, next] = [next, u];
        if (sweep === 0) next.fill(0);
      }
      return [u];
    },
    tolerance: 1e-5,
  };
});

/** An explicit step of the heat equation at the inner points of a cube. */
const heat = sized('heat equation in 3-D, 5 steps', { full: 48, small: 6 }, (side) => {
  const start = floats(side ** 3, 24, [0, 1]);
  const [inner, plane, factor] = [side - 2, side * side, 0.1];
  return {
    inputs: [{ array: start, shape: [side, side, side] }],
    tensors: (given) => {
      let u = given;
      const shifted = (x: number, y: number, z: number): Tensor =>
        u.narrow(0, x, inner).narrow(1, y, inner).narrow(2, z, inner);
      for (let step = 0; step < 5; step += 1) {
        const here = shifted(1, 1, 1);
        const along = [shifted(0, 1, 1).add(shifted(2, 1, 1)), shifted(1, 0, 1).add(shifted(1, 2, 1))];
        const around = along.reduce((sum, pair) => sum.add(pair), shifted(1, 1, 0).add(shifted(1, 1, 2)));
        u = around.sub(here.mul(6)).mul(factor).add(here).pad([1, 1, 1, 1, 1, 1]);
      }
      return [u];
    },
    plain: () => {
      let [u, next] = [Float32Array.from(start), new Float32Array(side ** 3)];
      for (let step = 0; step < 5; step += 1) {
        for (let x = 1; x < side - 1; x += 1)
          for (let y = 1; y < side - 1; y += 1) {
            const first = x * plane + y * side + 1;
            for (let at = first; at < first + inner; at += 1) {
              const along = read(u, at - 1) + read(u, at + 1) + read(u, at - side) + read(u, at + side);
              const around = along + read(u, at - plane) + read(u, at + plane);
              next[at] = read(u, at) + factor * (around - 6 * read(u, at));
            }
          }
        [u, next] = [next, u];
        if (step === 0) next.fill(0);
      }
      return [u];
    },
    tolerance: 1e-5,
  };
});

/** Generations on a torus. */
const life = sized('Game of Life, 10 generations', { full: 256, small: 8 }, (side) => {
  const start = Float32Array.from(floats(side * side, 25, [0, 1]), (value) => (value > 0.7 ? 1 : 0));
  const generations = 10;
  return {
    inputs: [{ array: start, shape: [side, side] }],
    tensors: (given) => {
      let alive = given;
      for (let generation = 0; generation < generations; generation += 1) {
        const rows = alive.roll(1, 0).add(alive).add(alive.roll(-1, 0));
        const around = rows.roll(1, 1).add(rows).add(rows.roll(-1, 1)).sub(alive);
        alive = around
          .eq(3)
          .logicalOr(around.eq(2).logicalAnd(alive.gt(0)))
          .float();
      }
      return [alive];
    },
    plain: () => {
      let [alive, next] = [Float32Array.from(start), new Float32Array(side * side)];
      for (let generation = 0; generation < generations; generation += 1) {
        for (let row = 0; row < side; row += 1) {
          const [up, down] = [((row + side - 1) % side) * side, ((row + 1) % side) * side];
          const here = row * side;
          for (let column = 0; column < side; column += 1) {
            const left = column === 0 ? side - 1 : column - 1;
            const right = column === side - 1 ? 0 : column + 1;
            const above = read(alive, up + left) + read(alive, up + column) + read(alive, up + right);
            const below = read(alive, down + left) + read(alive, down + column) + read(alive, down + right);
            const around = above + below + read(alive, here + left) + read(alive, here + right);
            next[here + column] = around === 3 || (around === 2 && read(alive, here + column) > 0) ? 1 : 0;
          }
        }
        [alive, next] = [next, alive];
      }
      return [alive];
    },
    tolerance: 0,
  };
});

const [sigma, rho, beta] = [10, 28, 8 / 3];

/** An ensemble of Lorenz systems, by steps of Runge and Kutta's method of order four. */
const lorenz = sized('Runge-Kutta steps of Lorenz systems', { full: 10_000, small: 11 }, (n) => {
  const start = floats(3 * n, 26, [1, 10]);
  const [steps, h] = [10, 0.01];
  const slope = (state: Tensor): Tensor => {
    const [x, y, z] = state.unbind(0) as [Tensor, Tensor, Tensor];
    return stack([y.sub(x).mul(sigma), x.mul(z.neg().add(rho)).sub(y), x.mul(y).sub(z.mul(beta))]);
  };
  return {
    inputs: [{ array: start, shape: [3, n] }],
    tensors: (given) => {
      let state = given;
      for (let step = 0; step < steps; step += 1) {
        const k1 = slope(state);
        const k2 = slope(state.add(k1.mul(h / 2)));
        const k3 = slope(state.add(k2.mul(h / 2)));
        const k4 = slope(state.add(k3.mul(h)));
        state = state.add(
          k1
            .add(k2.add(k3).mul(2))
            .add(k4)
            .mul(h / 6),
        );
      }
      return [state];
    },
    plain: () => {
      const out = new Float32Array(3 * n);
      for (let i = 0; i < n; i += 1) {
        let [x, y, z] = [read(start, i), read(start, n + i), read(start, 2 * n + i)];
        for (let step = 0; step < steps; step += 1) {
          let [dx, dy, dz] = [sigma * (y - x), x * (rho - z) - y, x * y - beta * z];
          let [sx, sy, sz] = [dx, dy, dz];
          for (let stage = 1; stage < 4; stage += 1) {
            const width = stage === 3 ? h : h / 2;
            const [px, py, pz] = [x + width * dx, y + width * dy, z + width * dz];
            [dx, dy, dz] = [sigma * (py - px), px * (rho - pz) - py, px * py - beta * pz];
            const weight = stage === 3 ? 1 : 2;
            sx += weight * dx;
            sy += weight * dy;
            sz += weight * dz;
          }
          x += (h / 6) * sx;
          y += (h / 6) * sy;
          z += (h / 6) * sz;
        }
        [out[i], out[n + i], out[2 * n + i]] = [x, y, z];
      }
      return [out];
    },
    tolerance: 1e-4,
  };
});

/** Damped oscillators from rest, under a force that is given at each step. */
const oscillators = sized('driven oscillators, 100 steps', { full: 4000, small: 9 }, (n) => {
  const [stiffness, force] = [floats(n, 27, [1, 4]), floats(100, 28)];
  const [h, damping] = [0.05, 0.1];
  return {
    inputs: [
      { array: stiffness, shape: [n] },
      { array: force, shape: [100] },
    ],
    tensors: (k, forces) => {
      let [place, speed]: [Tensor, Tensor] = [zeros([n]), zeros([n])];
      for (const push of forces.unbind(0)) {
        speed = speed.add(push.sub(k.mul(place)).sub(speed.mul(damping)).mul(h));
        place = place.add(speed.mul(h));
      }
      return [place];
    },
    plain: () => {
      const [place, speed] = [new Float32Array(n), new Float32Array(n)];
      for (let step = 0; step < 100; step += 1) {
        const push = read(force, step);
        for (let i = 0; i < n; i += 1) {
          const next = read(speed, i) + h * (push - read(stiffness, i) * read(place, i) - damping * read(speed, i));
          speed[i] = next;
          place[i] = read(place, i) + h * next;
        }
      }
      return [place];
    },
    tolerance: 1e-4,
  };
});

export const simulationPrograms: readonly SizedProgram[] = [nBody, jacobi, heat, life, lorenz, oscillators];
