// Flags of a compiler that change what floating-point code computes, or how the whole process rounds once such a library is
// loaded. In: the words that a user put behind a compiler's name. Out: the words that stay, and those that do not: what the
// settings `cpp.enableUnsafeMathOptFlag` and `cpp.enableFloatingPointContractFlag` allow is asked for there.

const changing: readonly RegExp[] = [
  /^-Ofast$/,
  /^-f(fast-math|unsafe-math-optimizations|finite-math-only|associative-math|reciprocal-math|cx-limited-range)$/,
  /^-f(no-signed-zeros|no-trapping-math|no-rounding-math|rounding-math|single-precision-constant|fp-model=.*)$/,
  /^-ffp-(contract|model|exception-behavior|eval-method)=.*$/,
  /^-f(approx-func|denormal-fp-math.*|excess-precision=.*|float-store)$/,
  /^-m(recip|daz-ftz|fpmath=|80387|no-80387|soft-float|pc(32|64|80)).*$/,
  /^-(Xclang|Xpreprocessor|Xlinker)?=?-menable-unsafe-fp-math$/,
];

interface SortedFlags {
  readonly kept: readonly string[];
  /** Not passed on, because they change numerics. */
  readonly dropped: readonly string[];
}

export function sortFlags(words: readonly string[]): SortedFlags {
  const isChanging = (word: string): boolean => changing.some((pattern) => pattern.test(word));
  return { kept: words.filter((word) => !isChanging(word)), dropped: words.filter(isChanging) };
}
