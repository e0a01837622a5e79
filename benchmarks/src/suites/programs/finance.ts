// Prices and risks: closed formulas, simulations from given uniform numbers, windows over a series.
import { floats, read, readDouble, sized } from './program.ts';
import type { SizedProgram } from './program.ts';

const [rate, volatility] = [0.03, 0.25];

/** The distribution function of the standard normal distribution, by the polynomial 7.1.26 of Abramowitz and Stegun. */
function normal(x: number): number {
  const t = 1 / (1 + (0.3275911 * Math.abs(x)) / Math.SQRT2);
  const series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  const tail = 0.5 * series * Math.exp((-x * x) / 2);
  return x < 0 ? tail : 1 - tail;
}

const blackScholes = sized('Black-Scholes', { full: 100_000, small: 50 }, (n) => {
  const [spots, strikes, years] = [floats(n, 11, [50, 150]), floats(n, 12, [50, 150]), floats(n, 13, [0.1, 3])];
  return {
    inputs: [spots, strikes, years].map((array) => ({ array, shape: [n] })),
    tensors: (spot, strike, time) => {
      const width = time.sqrt().mul(volatility);
      const d1 = spot
        .div(strike)
        .log()
        .add(time.mul(rate + volatility ** 2 / 2))
        .div(width);
      const below = d1.mul(Math.SQRT1_2).erf().add(1).mul(0.5);
      const exercised = d1.sub(width).mul(Math.SQRT1_2).erf().add(1).mul(0.5);
      return [spot.mul(below).sub(strike.mul(time.mul(-rate).exp()).mul(exercised))];
    },
    plain: () => {
      const out = new Float32Array(n);
      for (let i = 0; i < n; i += 1) {
        const [spot, strike, time] = [read(spots, i), read(strikes, i), read(years, i)];
        const width = volatility * Math.sqrt(time);
        const d1 = (Math.log(spot / strike) + (rate + volatility ** 2 / 2) * time) / width;
        out[i] = spot * normal(d1) - strike * Math.exp(-rate * time) * normal(d1 - width);
      }
      return [out];
    },
    tolerance: 1e-4,
  };
});

const optionSimulation = sized('Monte Carlo price of an option', { full: 200_000, small: 64 }, (n) => {
  const [first, second] = [floats(n, 14, [1e-6, 1]), floats(n, 15, [0, 1])];
  const [drift, discount] = [rate - volatility ** 2 / 2, Math.exp(-rate)];
  return {
    inputs: [first, second].map((array) => ({ array, shape: [n] })),
    tensors: (u, v) => {
      const deviate = u
        .log()
        .mul(-2)
        .sqrt()
        .mul(v.mul(2 * Math.PI).cos());
      const price = deviate.mul(volatility).add(drift).exp().mul(100);
      return [price.sub(105).clampMin(0).mean().mul(discount)];
    },
    plain: () => {
      let sum = 0;
      for (let i = 0; i < n; i += 1) {
        const deviate = Math.sqrt(-2 * Math.log(read(first, i))) * Math.cos(2 * Math.PI * read(second, i));
        sum += Math.max(0, 100 * Math.exp(drift + volatility * deviate) - 105);
      }
      return [Float32Array.of((discount * sum) / n)];
    },
    tolerance: 1e-4,
  };
});

const pi = sized('Monte Carlo pi', { full: 400_000, small: 100 }, (n) => {
  const [xs, ys] = [floats(n, 16, [0, 1]), floats(n, 17, [0, 1])];
  return {
    inputs: [xs, ys].map((array) => ({ array, shape: [n] })),
    tensors: (x, y) => [x.square().add(y.square()).le(1).float().mean().mul(4)],
    plain: () => {
      let inside = 0;
      for (let i = 0; i < n; i += 1) if (read(xs, i) ** 2 + read(ys, i) ** 2 <= 1) inside += 1;
      return [Float32Array.of((4 * inside) / n)];
    },
    // A point at the border may be taken for one of the other side.
    tolerance: 1e-4,
  };
});

/** Mean and standard deviation of each window of 32, by sums from the beginning. */
const rolling = sized('rolling mean and deviation', { full: 100_000, small: 80 }, (n) => {
  const series = floats(n, 18);
  const window = 32;
  const count = n - window + 1;
  return {
    inputs: [{ array: series, shape: [n] }],
    tensors: (given) => {
      const x = given.double();
      const windows = [x, x.mul(x)].map((values) => {
        const sums = values.cumsum(0).pad([1, 0]);
        return sums
          .narrow(0, window, count)
          .sub(sums.narrow(0, 0, count))
          .div(window);
      });
      const [mean, squares] = [windows[0] ?? x, windows[1] ?? x];
      return [mean.float(), squares.sub(mean.mul(mean)).clampMin(0).sqrt().float()];
    },
    plain: () => {
      const [means, deviations] = [new Float32Array(count), new Float32Array(count)];
      let [sum, squares] = [0, 0];
      for (let i = 0; i < n; i += 1) {
        const entering = read(series, i);
        sum += entering;
        squares += entering * entering;
        if (i < window - 1) continue;
        const first = i - window + 1;
        const mean = sum / window;
        means[first] = mean;
        deviations[first] = Math.sqrt(Math.max(0, squares / window - mean * mean));
        const leaving = read(series, first);
        sum -= leaving;
        squares -= leaving * leaving;
      }
      return [means, deviations];
    },
    tolerance: 1e-5,
  };
});

/** An exponential moving average of each of many series, from its first value on. */
const movingAverage = sized('exponential moving averages', { full: 2000, small: 7 }, (series) => {
  const days = 50;
  const prices = floats(days * series, 19, [90, 110]);
  const weight = 0.1;
  return {
    inputs: [{ array: prices, shape: [days, series] }],
    tensors: (given) => {
      let average = given.select(0, 0);
      for (let day = 1; day < days; day += 1) average = average.lerp(given.select(0, day), weight);
      return [average];
    },
    plain: () => {
      const average = new Float64Array(series);
      for (let k = 0; k < series; k += 1) average[k] = read(prices, k);
      for (let day = 1; day < days; day += 1)
        for (let k = 0; k < series; k += 1)
          average[k] = readDouble(average, k) + weight * (read(prices, day * series + k) - readDouble(average, k));
      return [Float32Array.from(average)];
    },
    tolerance: 1e-5,
  };
});

export const financePrograms: readonly SizedProgram[] = [blackScholes, optionSimulation, pi, rolling, movingAverage];
