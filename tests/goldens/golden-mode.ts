// What a run of the goldens is for. The npm scripts say it by a global of jest's, for nothing of it is the environment's.

export type GoldenMode =
  | { readonly kind: 'check' }
  /** Stored files are written anew. */
  | { readonly kind: 'update' }
  /** Every generated text is written below a folder: see tools/golden-diff.mjs. */
  | { readonly kind: 'texts'; readonly folder: string };

export function goldenMode(): GoldenMode {
  const asked: unknown = Reflect.get(globalThis, 'goldens');
  if (typeof asked !== 'string') return { kind: 'check' };
  return asked === 'update' ? { kind: 'update' } : { kind: 'texts', folder: asked };
}

/** What a failure says to do. */
export const advice: string =
  'If that was meant, `npm run goldens:update` writes them anew, and the diff of tests/goldens is reviewed like code; to see what ' +
  "changed in the text: `npm run goldens:diff -- COMMIT 'NAME OF A CASE'`.";
