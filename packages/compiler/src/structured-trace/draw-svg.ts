// Drawings as SVG, by Graphviz in WebAssembly where the program has the package. In: text in the language of Graphviz. Out: SVG.

/** Makes SVG of a drawing. */
export type DrawSvg = (drawing: string) => string;

/** What draws; undefined where the optional package `@viz-js/viz` is not installed. */
export async function svgDrawer(): Promise<DrawSvg | undefined> {
  try {
    const { instance } = await import('@viz-js/viz');
    const graphviz = await instance();
    return (drawing) => graphviz.renderString(drawing, { format: 'svg' });
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

const isMissing = (error: unknown): boolean =>
  ['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND'].includes(String((error as { code?: unknown } | null)?.code));
