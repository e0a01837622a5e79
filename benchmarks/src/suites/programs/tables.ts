// What is done with tables of rows: groups, ranks, distances, clusters, links.
import { cat, cdist, full, ones, zeros } from 'tsinductor';
import { floats, integers, read, readInteger, sized } from './program.ts';
import type { SizedProgram } from './program.ts';

const groupBy = sized('means by key', { full: 200_000, small: 40 }, (n) => {
  const groups = Math.ceil(n / 200);
  const [values, keys] = [floats(n, 51, [0, 1]), integers(n, 52, groups)];
  return {
    inputs: [
      { array: values, shape: [n] },
      { array: keys, shape: [n] },
    ],
    tensors: (x, key) => {
      const sums = zeros([groups]).indexAdd(0, key, x);
      return [
        sums.div(
          zeros([groups])
            .indexAdd(0, key, ones([n]))
            .clampMin(1),
        ),
      ];
    },
    plain: () => {
      const [sums, counts] = [new Float32Array(groups), new Int32Array(groups)];
      for (let i = 0; i < n; i += 1) {
        const key = readInteger(keys, i);
        sums[key] = read(sums, key) + read(values, i);
        counts[key] = readInteger(counts, key) + 1;
      }
      return [sums.map((sum, key) => sum / Math.max(1, readInteger(counts, key)))];
    },
    tolerance: 1e-4,
  };
});

const ranks = sized('sorted values and ranks', { full: 50_000, small: 30 }, (n) => {
  const given = floats(n, 53);
  return {
    inputs: [{ array: given, shape: [n] }],
    tensors: (x) => {
      const [sorted, order] = x.sort();
      return [sorted, order.argsort()];
    },
    plain: () => {
      const order = Uint32Array.from({ length: n }, (_, i) => i).sort((i, j) => read(given, i) - read(given, j));
      const [sorted, rank] = [new Float32Array(n), new Int32Array(n)];
      order.forEach((i, place) => {
        sorted[place] = read(given, i);
        rank[i] = place;
      });
      return [sorted, rank];
    },
    tolerance: 0,
  };
});

const quantiles = sized('histogram and quartiles', { full: 100_000, small: 90 }, (n) => {
  const given = floats(n, 54);
  const bins = 64;
  return {
    inputs: [{ array: given, shape: [n] }],
    tensors: (x) => {
      const sorted = x.sort()[0];
      const quartiles = [0.25, 0.5, 0.75].map((q) => sorted.narrow(0, Math.floor(q * (n - 1)), 1));
      return [x.histc(bins, -1, 1), cat(quartiles)];
    },
    plain: () => {
      const counts = new Float32Array(bins);
      for (let i = 0; i < n; i += 1) {
        const bin = Math.min(bins - 1, Math.floor(((read(given, i) + 1) * bins) / 2));
        counts[bin] = read(counts, bin) + 1;
      }
      const sorted = Float32Array.from(given).sort();
      return [counts, Float32Array.from([0.25, 0.5, 0.75], (q) => read(sorted, Math.floor(q * (n - 1))))];
    },
    // A value at the border of two bins may be counted in the other one.
    tolerance: 1e-3,
  };
});

/** The rows that are most like a query, by the cosine of their angle. */
const similar = sized('cosine top 10', { full: 10_000, small: 20 }, (n) => {
  const width = 64;
  const [rows, query] = [floats(n * width, 55), floats(width, 56)];
  const k = 10;
  return {
    inputs: [
      { array: rows, shape: [n, width] },
      { array: query, shape: [width] },
    ],
    tensors: (table, q) => {
      const lengths = table.square().sum(1).sqrt().mul(q.square().sum().sqrt());
      const [values, places] = table.matmul(q).div(lengths).topk(k);
      return [values, places];
    },
    plain: () => {
      const scores = new Float32Array(n);
      const own = Math.sqrt(query.reduce((sum, value) => sum + value * value, 0));
      for (let row = 0; row < n; row += 1) {
        let [product, squares] = [0, 0];
        for (let i = row * width, j = 0; j < width; i += 1, j += 1) {
          const value = read(rows, i);
          product += value * read(query, j);
          squares += value * value;
        }
        scores[row] = product / (Math.sqrt(squares) * own);
      }
      const [values, places] = [new Float32Array(k).fill(-Infinity), new Int32Array(k)];
      for (let row = 0; row < n; row += 1) {
        const score = read(scores, row);
        if (score <= read(values, k - 1)) continue;
        let place = k - 1;
        for (; place > 0 && read(values, place - 1) < score; place -= 1) {
          values[place] = read(values, place - 1);
          places[place] = readInteger(places, place - 1);
        }
        [values[place], places[place]] = [score, row];
      }
      return [values, places];
    },
    tolerance: 1e-5,
  };
});

const distances = sized('distances of all pairs', { full: 400, small: 8 }, (n) => {
  const width = 16;
  const rows = floats(n * width, 57);
  return {
    inputs: [{ array: rows, shape: [n, width] }],
    tensors: (x) => [cdist(x, x)],
    plain: () => {
      const out = new Float32Array(n * n);
      for (let i = 0; i < n; i += 1)
        for (let j = 0; j < n; j += 1) {
          let sum = 0;
          for (let k = 0; k < width; k += 1) sum += (read(rows, i * width + k) - read(rows, j * width + k)) ** 2;
          out[i * n + j] = Math.sqrt(sum);
        }
      return [out];
    },
    tolerance: 1e-4,
  };
});

/** Lloyd's steps: each row to the nearest centre, each centre to the mean of its rows. */
const kMeans = sized('k-means, 5 steps', { full: 4000, small: 40 }, (n) => {
  const [width, clusters, steps] = [8, 16, 5];
  const rows = floats(n * width, 58);
  return {
    inputs: [{ array: rows, shape: [n, width] }],
    tensors: (x) => {
      let centres = x.narrow(0, 0, clusters);
      for (let step = 0; step < steps; step += 1) {
        const squares = x.unsqueeze(1).sub(centres.unsqueeze(0)).square().sum(2);
        const nearest = squares.argmin(1);
        const counts = zeros([clusters, 1])
          .indexAdd(0, nearest, ones([n, 1]))
          .clampMin(1);
        centres = zeros([clusters, width]).indexAdd(0, nearest, x).div(counts);
      }
      return [centres];
    },
    plain: () => {
      const centres = rows.slice(0, clusters * width);
      for (let step = 0; step < steps; step += 1) {
        const [sums, counts] = [new Float32Array(clusters * width), new Int32Array(clusters)];
        for (let row = 0; row < n; row += 1) {
          let [nearest, least] = [0, Infinity];
          for (let cluster = 0; cluster < clusters; cluster += 1) {
            let squares = 0;
            for (let k = 0; k < width; k += 1)
              squares += (read(rows, row * width + k) - read(centres, cluster * width + k)) ** 2;
            if (squares < least) [nearest, least] = [cluster, squares];
          }
          counts[nearest] = readInteger(counts, nearest) + 1;
          for (let k = 0; k < width; k += 1)
            sums[nearest * width + k] = read(sums, nearest * width + k) + read(rows, row * width + k);
        }
        for (let k = 0; k < clusters * width; k += 1)
          centres[k] = read(sums, k) / Math.max(1, readInteger(counts, Math.floor(k / width)));
      }
      return [centres];
    },
    // A row half way between two centres may go to the other one.
    tolerance: 1e-2,
  };
});

const pageRank = sized('PageRank, 10 iterations', { full: 5000, small: 9 }, (n) => {
  const links = 10 * n;
  const [sources, targets] = [integers(links, 59, n), integers(links, 60, n)];
  const damping = 0.85;
  return {
    inputs: [
      { array: sources, shape: [links] },
      { array: targets, shape: [links] },
    ],
    tensors: (from, to) => {
      const degrees = zeros([n])
        .indexAdd(0, from, ones([links]))
        .clampMin(1);
      let rank = full([n], 1 / n);
      for (let step = 0; step < 10; step += 1) {
        const given = rank.div(degrees).indexSelect(0, from);
        rank = zeros([n])
          .indexAdd(0, to, given)
          .mul(damping)
          .add((1 - damping) / n);
      }
      return [rank];
    },
    plain: () => {
      const degrees = new Int32Array(n);
      for (let link = 0; link < links; link += 1) {
        const source = readInteger(sources, link);
        degrees[source] = readInteger(degrees, source) + 1;
      }
      let [rank, next] = [new Float32Array(n).fill(1 / n), new Float32Array(n)];
      for (let step = 0; step < 10; step += 1) {
        next.fill(0);
        for (let link = 0; link < links; link += 1) {
          const [source, target] = [readInteger(sources, link), readInteger(targets, link)];
          next[target] = read(next, target) + read(rank, source) / readInteger(degrees, source);
        }
        for (let page = 0; page < n; page += 1) next[page] = damping * read(next, page) + (1 - damping) / n;
        [rank, next] = [next, rank];
      }
      return [rank];
    },
    tolerance: 1e-4,
  };
});

/** The mean over rows of the negative logarithm of softmax at a label. */
const crossEntropy = sized('softmax cross entropy', { full: 2000, small: 6 }, (n) => {
  const classes = 100;
  const [scores, labels] = [floats(n * classes, 61, [-3, 3]), integers(n, 62, classes)];
  return {
    inputs: [
      { array: scores, shape: [n, classes] },
      { array: labels, shape: [n] },
    ],
    tensors: (x, label) => [x.logSoftmax(1).gather(1, label.unsqueeze(1)).mean().neg()],
    plain: () => {
      let loss = 0;
      for (let row = 0; row < n; row += 1) {
        let [largest, sum] = [-Infinity, 0];
        for (let k = row * classes; k < (row + 1) * classes; k += 1) largest = Math.max(largest, read(scores, k));
        for (let k = row * classes; k < (row + 1) * classes; k += 1) sum += Math.exp(read(scores, k) - largest);
        loss += largest + Math.log(sum) - read(scores, row * classes + readInteger(labels, row));
      }
      return [Float32Array.of(loss / n)];
    },
    tolerance: 1e-4,
  };
});

export const tablePrograms: readonly SizedProgram[] = [
  groupBy,
  ranks,
  quantiles,
  similar,
  distances,
  kMeans,
  pageRank,
  crossEntropy,
];
