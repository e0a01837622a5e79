// Names whose meaning is known wherever they stand in a function's source.

/** Functions of Math whose answer is a number that follows from numbers. */
export const arithmetic: RegExp =
  /^(?:abs|a?(?:cos|sin|tan)h?|atan2|cbrt|ceil|exp|expm1|floor|fround|hypot|log(?:10|1p|2)?|max|min|pow|round|sign|sqrt|trunc)$/;
export const comparisons: readonly string[] = ['==', '===', '!=', '!==', '<', '<=', '>', '>=', 'in', 'instanceof'];
export const absences: readonly string[] = ['==', '===', '!=', '!=='];

/** What makes tensors, or writes to them, without being an operator. */
export const makers: readonly string[] = [
  'slice',
  'tensor',
  'at',
  'set',
  'copy_',
  'uniform_',
  'normal_',
  'bernoulli_',
  'requiresGrad_',
  'markDynamic',
  'isTensor',
  'rand',
  'randn',
  'float',
];
export const walksOver: readonly string[] = ['map', 'forEach', 'reduce', 'flatMap'];
export const keepsElements: readonly string[] = ['slice', 'concat', 'at', 'flat', 'reverse'];

/** Functions of Math whose answer stays the same for several numbers, or follows another argument from some number on. */
export const stepped: RegExp = /^(?:abs|ceil|floor|fround|max|min|round|sign|trunc)$/;

/** Whether what an assignment leaves in its variable is decided by what was there: it is tested, has a step, or becomes text. */
export const decidesInPlace = (operator: string, addsText: boolean): boolean =>
  /^(?:&&|\|\||[%|&^]|<<|>>>?)=$/.test(operator) || (operator === '+=' && addsText);
