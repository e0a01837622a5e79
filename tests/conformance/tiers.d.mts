// Types of what tests use of tiers.mjs.
export interface Tiers {
  readonly graph: readonly string[];
  readonly segments: readonly string[];
  readonly interpreted: readonly { readonly op: string; readonly reason: string }[];
  readonly total: number;
  readonly share: number;
}
export declare const largestShare: number;
export declare function findTiers(directory: string): Promise<Tiers>;
