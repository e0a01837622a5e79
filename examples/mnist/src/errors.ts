// What can be wrong with the digits.

export const notIdx = (path: string, rank: number): RangeError =>
  new RangeError(`${path} is not an idx file of bytes of rank ${String(rank)}`);

export const wrongShape = (path: string, shape: readonly number[], bytes: number): RangeError =>
  new RangeError(`${path} has shape ${shape.join(' x ')} and ${String(bytes)} bytes`);

export const differentCounts = (part: string): RangeError =>
  new RangeError(`${part}: images and labels differ in number`);

export const noDigits = (): RangeError => new RangeError('there are fewer digits than one batch');
