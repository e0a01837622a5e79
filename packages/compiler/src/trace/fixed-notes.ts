// What is said of numbers and sizes that could have been open, and are fixed all the same. In: a trace, and what its source says. Out:
// notes for the report, each with what the number decides.
import type { Flow } from './program-flow.ts';
import { anySize } from './held-numbers.ts';
import type { AliasedCall, TracedCall } from './trace-call.ts';

/** `flow` is undefined where no source was to be had. */
export function fixedNotes(traced: TracedCall | AliasedCall, flow: Flow | undefined): readonly string[] {
  if ('error' in traced) return [];
  return [...numberNotes(traced, flow), ...sizeNotes(traced, flow)];
}

function numberNotes({ guards, variable }: TracedCall, flow: Flow | undefined): readonly string[] {
  const guarded = guards.nodes.filter(({ path, expect }) => expect.kind === 'value' && variable.has(path));
  return guarded.map(({ path }) => {
    const what = flow?.decided.get(path);
    return `${path} changes, and is guarded by its value: ${what === undefined ? unknown(flow) : `it decides ${what}`}`;
  });
}

function sizeNotes({ readSizes, sizeGuards }: TracedCall, flow: Flow | undefined): readonly string[] {
  const isFixed = sizeGuards.some(({ guard }) => guard.relation === '==' && guard.right.kind === 'int');
  if (readSizes.length === 0 || !isFixed) return [];
  const found = [...(flow?.decided ?? [])].find(([label]) => label.startsWith(anySize));
  const why = found === undefined ? unknown(flow) : `it decides ${found[1]}`;
  return [`a size that is read changes, and is fixed: ${why}`];
}

const unknown = (flow: Flow | undefined): string => {
  if (flow === undefined) return 'the text of the function cannot be read';
  if (flow.writes) return 'a function writes to a variable outside of it';
  return flow.left === undefined
    ? 'it decides a shape or an attribute'
    : `another function reads it, and what ${flow.left} does is not known`;
};
