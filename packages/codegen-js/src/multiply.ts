// Products of dense matrices: what generated functions of contractions call once the operands lie as rows of doubles.
//
// Law: the order of additions is the interpreter's (`run-contract.ts` of ir): four products at a time, added in pairs, then to the sum
// of the block of k; what is left of a block one by one; and the block's sum to that of the blocks before, with what rounding loses
// of it. Which elements are computed beside each other does not matter.

/** out[m, n] = a[m, k] times b[k, n], all row-major. */
interface Matrices<Elements> {
  readonly a: Elements;
  readonly b: Elements;
  readonly out: Elements;
}

interface Extents {
  readonly m: number;
  readonly n: number;
  readonly k: number;
}

/** A block of b stays in the second-level cache while all rows of a meet it. */
const columnsPerBlock = 256;
/** The interpreter's blocks of k. */
export const rowsPerBlock = 128;

export function multiplyDoubles(matrices: Matrices<Float64Array>, { m, n, k }: Extents): void {
  const { a, b, out } = matrices;
  out.fill(0, 0, m * n);
  const lost = new Float64Array(k > rowsPerBlock ? m * n : 0);
  const sums = new Float64Array(2 * Math.min(n, columnsPerBlock));
  for (let j0 = 0; j0 < n; j0 += columnsPerBlock) {
    const j1 = Math.min(n, j0 + columnsPerBlock);
    for (let p0 = 0; p0 < k; p0 += rowsPerBlock) {
      const block = { n, k, j0, j1, p0, p1: Math.min(k, p0 + rowsPerBlock) };
      for (let i = 0; i < m; i += 2) {
        const isPair = i + 2 <= m;
        if (isPair) multiplyTwoRows({ a, b, out: sums }, i, block);
        else multiplyRow({ a, b, out: sums }, i, block);
        addBlock(out, sums, { lost, first: i * n + j0, n, width: j1 - j0, rows: isPair ? 2 : 1 });
      }
    }
  }
  for (let place = 0; place < lost.length; place += 1) {
    const rest = lost[place] ?? 0;
    // What was lost beside an infinity is no number.
    if (Number.isFinite(rest)) out[place] = (out[place] ?? 0) + rest;
  }
}

interface Adding {
  readonly lost: Float64Array;
  readonly first: number;
  readonly n: number;
  readonly width: number;
  readonly rows: number;
}

/** Adds the sums of a block to rows of the product, and clears them. */
function addBlock(out: Float64Array, sums: Float64Array, { lost, first, n, width, rows }: Adding): void {
  const isKept = lost.length > 0;
  for (let row = 0; row < rows; row += 1) {
    for (let j = 0, place = first + row * n, from = row * width; j < width; j += 1, place += 1, from += 1) {
      const [sum, more] = [out[place] ?? 0, sums[from] ?? 0];
      const next = sum + more;
      const added = next - sum;
      if (isKept) lost[place] = (lost[place] ?? 0) + (sum - (next - added) + (more - added));
      out[place] = next;
      sums[from] = 0;
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
/** Rows i and i + 1 of a, to the first and the second row of sums: each element of b that is read serves both. */
function multiplyTwoRows({ a, b, out }: Matrices<Float64Array>, i: number, { n, k, j0, j1, p0, p1 }: Block): void {
  const [one, two] = [i * k, (i + 1) * k];
  const width = j1 - j0;
  let p = p0;
  for (; p + 4 <= p1; p += 4) {
    const [x0, x1, x2, x3] = [a[one + p] as number, a[one + p + 1] as number, a[one + p + 2] as number, a[one + p + 3] as number]; // prettier-ignore
    const [y0, y1, y2, y3] = [a[two + p] as number, a[two + p + 1] as number, a[two + p + 2] as number, a[two + p + 3] as number]; // prettier-ignore
    let r0 = p * n + j0;
    let [r1, r2, r3] = [r0 + n, r0 + 2 * n, r0 + 3 * n];
    for (let j = j0; j < j1; j += 1, r0 += 1, r1 += 1, r2 += 1, r3 += 1) {
      const [b0, b1, b2, b3] = [b[r0] as number, b[r1] as number, b[r2] as number, b[r3] as number];
      const column = j - j0;
      out[column] = (out[column] as number) + (x0 * b0 + x1 * b1 + (x2 * b2 + x3 * b3));
      out[width + column] = (out[width + column] as number) + (y0 * b0 + y1 * b1 + (y2 * b2 + y3 * b3));
    }
  }
  for (; p < p1; p += 1) {
    const [x, y] = [a[one + p] as number, a[two + p] as number];
    for (let j = j0, r = p * n + j0; j < j1; j += 1, r += 1) {
      out[j - j0] = (out[j - j0] as number) + x * (b[r] as number);
      out[width + j - j0] = (out[width + j - j0] as number) + y * (b[r] as number);
    }
  }
}

function multiplyRow({ a, b, out }: Matrices<Float64Array>, i: number, { n, k, j0, j1, p0, p1 }: Block): void {
  const row = i * k;
  let p = p0;
  for (; p + 4 <= p1; p += 4) {
    const [x0, x1, x2, x3] = [a[row + p] as number, a[row + p + 1] as number, a[row + p + 2] as number, a[row + p + 3] as number]; // prettier-ignore
    let r0 = p * n + j0;
    let [r1, r2, r3] = [r0 + n, r0 + 2 * n, r0 + 3 * n];
    for (let j = j0; j < j1; j += 1, r0 += 1, r1 += 1, r2 += 1, r3 += 1) {
      const low = x0 * (b[r0] as number) + x1 * (b[r1] as number);
      const high = x2 * (b[r2] as number) + x3 * (b[r3] as number);
      out[j - j0] = (out[j - j0] as number) + (low + high);
    }
  }
  for (; p < p1; p += 1) {
    const x = a[row + p] as number;
    for (let j = j0, r = p * n + j0; j < j1; j += 1, r += 1)
      out[j - j0] = (out[j - j0] as number) + x * (b[r] as number);
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
