// A module loader hook for programs that we load or start: a file may lie anywhere and import `tsinductor` as if it were
// installed beside it. What cannot be found from there is looked for from here. TypeScript outside a package counts as an
// ES module, because `tsinductor` is one.

interface Resolution {
  readonly url: string;
  readonly format?: string | null;
}
interface ResolveContext {
  readonly parentURL?: string;
}
type NextResolve = (specifier: string, context: ResolveContext) => Promise<Resolution>;

/** Node's `resolve` hook. */
export async function resolve(specifier: string, context: ResolveContext, next: NextResolve): Promise<Resolution> {
  if (/^(@tsinductor\/|tsinductor(\/|$))/.test(specifier)) return resolveOurs(specifier, context, next);
  const resolution = await next(specifier, context);
  const { format, url } = resolution;
  // Node's own format of TypeScript is `commonjs-typescript`, and that of modules `module-typescript`.
  const isScript = format?.startsWith('commonjs') === true && /\.tsx?($|\?)/.test(url);
  return isScript ? { ...resolution, format: format.replace('commonjs', 'module') } : resolution;
}

async function resolveOurs(specifier: string, context: ResolveContext, next: NextResolve): Promise<Resolution> {
  try {
    return await next(specifier, context);
  } catch {
    return next(specifier, { ...context, parentURL: import.meta.url });
  }
}
