// Types of what tests use of dsl-cases.mjs.
export declare const coreCases: Readonly<Record<string, readonly unknown[]>>;
