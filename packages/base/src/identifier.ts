// What ECMAScript lets a program call something.

/** Whether a text may be a name in a program, if it is no word of the language. */
export const isIdentifier = (text: string): boolean => /^[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*$/u.test(text);
