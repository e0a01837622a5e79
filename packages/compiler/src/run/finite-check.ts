// What the setting nanAsserts looks for around a call: NaN and infinities among the elements that a graph is given and those that
// it gives. In: an executable and its graph. Out: one that throws at the first such element, with the operator that made it.
import { at } from '@tsinductor/base';
import type { Graph } from '@tsinductor/graph';
import type { Tensor } from '@tsinductor/tensor';
import { notFinite } from '../errors.ts';
import type { Executable } from './executable.ts';

/** `executable`; its calls throw UserError VALUE_NOT_FINITE. */
export function finiteOnly(executable: Executable, graph: Graph, name: string): Executable {
  const inputs = graph.nodes.filter((node) => node.kind === 'placeholder');
  const makers = new Map(graph.nodes.map((node) => [node.id, node]));
  return {
    run: (given) => {
      for (const [position, tensor] of given.entries()) {
        const element = strayElement(tensor);
        const input = inputs[position]?.name ?? String(position);
        if (element !== undefined) throw notFinite(`${input}, which ${name} was given,`, element, undefined);
      }
      const results = executable.run([...given]);
      for (const [position, tensor] of results.entries()) {
        const element = strayElement(tensor);
        if (element === undefined) continue;
        const maker = makers.get(at(graph.outputs, position).node);
        const made = maker?.kind === 'call' ? `, made by ${maker.target},` : '';
        throw notFinite(`result ${String(position)} of ${name}${made}`, element, maker?.origin.location);
      }
      return results;
    },
    get report() {
      return executable.report;
    },
    ...(executable.tiers === undefined ? {} : { tiers: executable.tiers }),
  };
}

const floats: ReadonlySet<string> = new Set(['f64', 'f32', 'f16', 'bf16']);

/** The first element that is NaN or infinite. */
function strayElement(tensor: Tensor): number | undefined {
  return floats.has(tensor.dtype) ? strayOf(tensor.toArray()) : undefined;
}

function strayOf(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : value;
  if (!Array.isArray(value)) return undefined;
  for (const member of value) {
    const stray = strayOf(member);
    if (stray !== undefined) return stray;
  }
  return undefined;
}
