export declare const variants: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
