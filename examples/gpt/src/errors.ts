// What can be wrong with what the demo is given.

export const shortText = (name: string, length: number, least: number): RangeError =>
  new RangeError(`${name} has ${String(length)} characters, and ${String(least)} are needed`);

export const badNumber = (option: string, is: string, least: number): RangeError =>
  new RangeError(`--${option} is ${JSON.stringify(is)}, and a number from ${String(least)} on is needed`);
