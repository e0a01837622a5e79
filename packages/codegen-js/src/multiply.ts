// Products of dense matrices: what generated functions of contractions call once the operands lie as rows of doubles.
//
// Law: the order of additions is the interpreter's (`run-contract.ts` of ir): four products at a time, added in pairs, then to the sum
// so far; what is left of a row one by one. Which elements are computed beside each other does not matter.

/** out[m, n] = a[m, k] times b[k, n], all row-major. */
export interface Matrices<Elements> {
  readonly a: Elements;
  readonly b: Elements;
  readonly out: Elements;
}

export interface Extents {
  readonly m: number;
  readonly n: number;
  readonly k: number;
}

/** A block of b stays in the second-level cache while all rows of a meet it. */
const columnsPerBlock = 256;
const rowsPerBlock = 128;

export function multiplyDoubles(matrices: Matrices<Float64Array>, { m, n, k }: Extents): void {
  matrices.out.fill(0, 0, m * n);
  for (let j0 = 0; j0 < n; j0 += columnsPerBlock) {
    const j1 = Math.min(n, j0 + columnsPerBlock);
    for (let p0 = 0; p0 < k; p0 += rowsPerBlock) {
      const block = { n, k, j0, j1, p0, p1: Math.min(k, p0 + rowsPerBlock) };
      let i = 0;
      for (; i + 2 <= m; i += 2) multiplyTwoRows(matrices, i, block);
      if (i < m) multiplyRow(matrices, i, block);
    }
  }
}

interface Block {
  readonly n: number;
  readonly k: number;
  readonly j0: number;
  readonly j1: number;
  readonly p0: number;
  readonly p1: number;
}

/* eslint-disable @typescript-eslint/non-nullable-type-assertion-style -- reads are in bounds by construction; a default would cost time here */
/** Rows i and i + 1 of a: each element of b that is read serves both. */
function multiplyTwoRows({ a, b, out }: Matrices<Float64Array>, i: number, { n, k, j0, j1, p0, p1 }: Block): void {
  const [one, two] = [i * k, (i + 1) * k];
  const [first, second] = [i * n, (i + 1) * n];
  let p = p0;
  for (; p + 4 <= p1; p += 4) {
    const [x0, x1, x2, x3] = [a[one + p] as number, a[one + p + 1] as number, a[one + p + 2] as number, a[one + p + 3] as number]; // prettier-ignore
    const [y0, y1, y2, y3] = [a[two + p] as number, a[two + p + 1] as number, a[two + p + 2] as number, a[two + p + 3] as number]; // prettier-ignore
    let r0 = p * n + j0;
    let [r1, r2, r3] = [r0 + n, r0 + 2 * n, r0 + 3 * n];
    for (let j = j0; j < j1; j += 1, r0 += 1, r1 += 1, r2 += 1, r3 += 1) {
      const [b0, b1, b2, b3] = [b[r0] as number, b[r1] as number, b[r2] as number, b[r3] as number];
      out[first + j] = (out[first + j] as number) + (x0 * b0 + x1 * b1 + (x2 * b2 + x3 * b3));
      out[second + j] = (out[second + j] as number) + (y0 * b0 + y1 * b1 + (y2 * b2 + y3 * b3));
    }
  }
  for (; p < p1; p += 1) {
    const [x, y] = [a[one + p] as number, a[two + p] as number];
    for (let j = j0, r = p * n + j0; j < j1; j += 1, r += 1) {
      out[first + j] = (out[first + j] as number) + x * (b[r] as number);
      out[second + j] = (out[second + j] as number) + y * (b[r] as number);
    }
  }
}

function multiplyRow({ a, b, out }: Matrices<Float64Array>, i: number, { n, k, j0, j1, p0, p1 }: Block): void {
  const [row, first] = [i * k, i * n];
  let p = p0;
  for (; p + 4 <= p1; p += 4) {
    const [x0, x1, x2, x3] = [a[row + p] as number, a[row + p + 1] as number, a[row + p + 2] as number, a[row + p + 3] as number]; // prettier-ignore
    let r0 = p * n + j0;
    let [r1, r2, r3] = [r0 + n, r0 + 2 * n, r0 + 3 * n];
    for (let j = j0; j < j1; j += 1, r0 += 1, r1 += 1, r2 += 1, r3 += 1) {
      const low = x0 * (b[r0] as number) + x1 * (b[r1] as number);
      const high = x2 * (b[r2] as number) + x3 * (b[r3] as number);
      out[first + j] = (out[first + j] as number) + (low + high);
    }
  }
  for (; p < p1; p += 1) {
    const x = a[row + p] as number;
    for (let j = j0, r = p * n + j0; j < j1; j += 1, r += 1)
      out[first + j] = (out[first + j] as number) + x * (b[r] as number);
  }
}

/** In 32 bits, which every narrower integer is the lower part of. */
export function multiplyWords({ a, b, out }: Matrices<Int32Array>, { m, n, k }: Extents): void {
  out.fill(0, 0, m * n);
  for (let i = 0; i < m; i += 1)
    for (let p = 0; p < k; p += 1) {
      const x = a[i * k + p] as number;
      for (let j = i * n, r = p * n; j < (i + 1) * n; j += 1, r += 1)
        out[j] = ((out[j] as number) + Math.imul(x, b[r] as number)) | 0;
    }
}
/* eslint-enable @typescript-eslint/non-nullable-type-assertion-style */
