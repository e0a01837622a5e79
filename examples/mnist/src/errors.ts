// What can be wrong with the digits.

export const differentCounts = (part: string): RangeError =>
  new RangeError(`${part}: images and labels differ in number, or images are not 28 by 28`);

export const noDigits = (): RangeError => new RangeError('there are fewer digits than one batch');

export const badNumber = (option: string, is: string, least: number): RangeError =>
  new RangeError(`--${option} is ${JSON.stringify(is)}, and a number from ${String(least)} on is needed`);
