// A custom op without a lowering, in the graph that is being recorded. In: the call, and what its tensors stand for. Out: one
// node, whose results are the op's new results and, for what it writes to, new values, which are then written.
import { at } from '@tsinductor/base';
import { isList, isValue } from '@tsinductor/graph';
import type { Arg, ValueRef } from '@tsinductor/graph';
import type { HostCall } from '../custom-op/custom-op.ts';
import { aliasedMutation } from '../errors.ts';
import type { Tensor } from '../tensor.ts';
import type { TraceSession } from './session.ts';
import { valueOf } from './traced-memory.ts';
import type { TracedView } from './traced-memory.ts';

/** What the call's tensors are while it is recorded, and how a new value becomes a tensor. */
interface HostOperands {
  readonly views: readonly TracedView[];
  readonly made: (ref: ValueRef) => Tensor;
}

export function recordHost(session: TraceSession, host: HostCall, { views, made }: HostOperands): readonly Tensor[] {
  const { name, call, mutated } = host;
  // Each operand is a value of its own, in which a write to another one does not show.
  const isShared = mutated.some(
    (position) => views.filter(({ memory }) => memory === at(views, position).memory).length > 1,
  );
  if (isShared) throw aliasedMutation(name);
  const { builder } = session;
  const refs = views.map((view) => valueOf(builder, view));
  const metas = host.infer(
    refs.map((ref) => builder.meta(ref)),
    session.sizes,
  );
  const node = { target: name, args: call.args.map((arg) => withRefs(arg, refs)), attrs: call.attrs };
  const results = builder.host(node, metas).map(made);
  const fresh = results.slice(0, results.length - mutated.length);
  mutated.forEach((position, written) => {
    session.write(at(call.tensors, position), at(results, fresh.length + written), { operation: name });
  });
  return fresh;
}

/** A call's argument, whose values are positions in its tensors, as one of the graph. */
export function withRefs(arg: Arg, refs: readonly ValueRef[]): Arg {
  if (isList(arg)) return arg.map((item) => (isValue(item) ? at(refs, item.node) : item));
  return isValue(arg) ? at(refs, arg.node) : arg;
}
