// For tests of the architecture: what modules export, and which import each other. In: source files as lines. Out: names, circles.
import { join } from 'node:path';

interface ModuleText {
  readonly path: string;
  readonly lines: readonly string[];
}

/** What a file declares and exports; not what it exports of others. */
export const exportedNames = (lines: readonly string[]): ReadonlySet<string> =>
  new Set(
    lines.flatMap((line) => {
      const found =
        /^export (?:declare |abstract |async )*(?:const|let|function\*?|class|interface|type|enum) (\w+)/.exec(line);
      return found?.[1] ?? [];
    }),
  );

/** The files of which each imports values of the others, directly or by way of them. */
export function importCircles(files: readonly ModuleText[]): readonly (readonly string[])[] {
  const targets = new Map(files.map((file) => [file.path, relativeValues(file)]));
  const reached = new Map([...targets.keys()].map((path) => [path, reachable(path, targets)]));
  const circles = [...targets.keys()].flatMap((path) => {
    const circle = [...(reached.get(path) ?? [])].filter((other) => reached.get(other)?.has(path) === true).sort();
    return circle[0] === path ? [circle] : [];
  });
  return circles.filter((circle) => circle.length > 1);
}

/** The files that a file imports values of, by relative paths. */
const relativeValues = ({ path, lines }: ModuleText): readonly string[] =>
  [...lines.join('\n').matchAll(/^(?:import|export) (?!type\b)([^'";]*?) from '(\.[^']+)';/gm)].flatMap(
    ([, names = '', from = '']) => {
      const listed = /^\{([^}]*)\}$/
        .exec(names.trim())?.[1]
        ?.split(',')
        .map((name) => name.trim())
        .filter((name) => name !== '');
      return listed?.every((name) => name.startsWith('type ')) === true ? [] : [join(path, '..', from)];
    },
  );

/** `from`, and all that is reached from it. */
function reachable(from: string, targets: ReadonlyMap<string, readonly string[]>): ReadonlySet<string> {
  const seen = new Set<string>();
  const open = [from];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (seen.has(path)) continue;
    seen.add(path);
    open.push(...(targets.get(path) ?? []));
  }
  return seen;
}
