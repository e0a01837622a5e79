export const groups: readonly { readonly title: string; readonly pages: readonly string[] }[];
export function titleOf(text: string): string;
