// A loop or a branch, in the graph that is being recorded. In: its operands, and its bodies, which ran on stand-ins. Out: one node, whose
// results are what is carried at the end and what is stacked; what its bodies write to is carried as well, and then written.
import { at } from '@tsinductor/base';
import { contiguousStrides, sizeAttr } from '@tsinductor/graph';
import type { Attrs, Meta, ValueRef } from '@tsinductor/graph';
import { int } from '@tsinductor/ir';
import type { Device } from '../device.ts';
import type { ClosedBody, FlowCall } from '../recorder.ts';
import type { Tensor } from '../tensor.ts';
import type { TraceSession } from './session.ts';
import type { TraceResult } from './trace-result.ts';

interface FlowSession {
  readonly hosts: TraceResult['hosts'][number][];
  readonly made: (ref: ValueRef, device: Device) => Tensor;
}

/** Throws UserError GRAPH_LEFT for what a body cannot do within a graph. */
export function recordFlow(session: TraceSession, call: FlowCall, { hosts, made }: FlowSession): readonly Tensor[] {
  const { form, name, operands, stacked } = call;
  const bodies = closeBodies(session, call);
  const written = writtenBy(call);
  // What is captured stays what it is, also where it is an operand that another value follows.
  const captures = [...new Set(bodies.flatMap((body) => body.captures))];
  const tensors = [...operands, ...captures];
  const positionOf = (captured: Tensor): number => operands.length + captures.indexOf(captured);
  const values = tensors.map((tensor) => session.argument(tensor) ?? at([], 0));
  const own = form === 'branch' ? [] : operands.map((_, position) => position);
  const outputs = at(call.bodies, call.bodies.length - 1).outputs.length;
  const carried = [
    ...call.carried.map(({ operand, output }) => ({ argument: operand, output })),
    ...written.map((tensor, place) => ({ argument: positionOf(tensor), output: outputs + place })),
  ];
  const metas = carried.map(({ argument }) => contiguous(at(values, argument).meta));
  const flow = {
    form,
    bodies: bodies.map(({ graph, captures: met }) => ({ graph, inputs: [...own, ...met.map(positionOf)] })),
    rows: call.rows,
    carried,
    stacked,
  };
  const rows = stacked.map((output) => stackedMeta(call, at(bodies, bodies.length - 1), output));
  const node = { target: name, args: values.map(({ ref }) => ref), attrs: attrsOf(call), flow };
  const device = tensors.map((tensor) => tensor.device).find((place) => place !== 'cpu') ?? 'cpu';
  const results = session.builder.host(node, [...metas, ...rows]).map((ref) => made(ref, device));
  hosts.push({ kind: 'flow', name, hosts: bodies.map((body) => body.hosts) });
  written.forEach((tensor, place) => {
    session.write(tensor, at(results, call.carried.length + place), { operation: name });
  });
  return [...results.slice(0, call.carried.length), ...results.slice(carried.length)];
}

/** Everything from outside that a body writes to, once. */
const writtenBy = ({ bodies }: FlowCall): readonly Tensor[] => [...new Set(bodies.flatMap(({ written }) => written))];

function closeBodies(session: TraceSession, call: FlowCall): readonly ClosedBody[] {
  const { form, name, bodies } = call;
  const written = writtenBy(call);
  const closed = bodies.map((body, position) => {
    const isCondition = form === 'while' && position === 0;
    if (isCondition && body.written.length > 0)
      session.suspend(() => undefined, `the condition of ${name} writes to a tensor from outside`);
    return body.close(isCondition ? [] : written);
  });
  if (closed.some(({ hosts }) => hosts.some(({ kind }) => kind === 'launch')))
    session.suspend(() => undefined, `a function that ${name} calls launches a kernel`);
  return closed;
}

const contiguous = (meta: Meta): Meta => ({ ...meta, strides: contiguousStrides(meta.shape) });

function stackedMeta({ form, steps = int(0) }: FlowCall, { graph }: ClosedBody, output: number): Meta {
  const { node, result } = at(graph.outputs, output);
  const { dtype, shape } = at(at(graph.nodes, node).results, result);
  return contiguous({ dtype, shape: form === 'scan' ? [steps, ...shape] : shape, strides: [] });
}

const attrsOf = ({ form, steps = int(0), isReverse = false }: FlowCall): Attrs =>
  form === 'scan' ? { steps: sizeAttr(steps), reverse: isReverse } : {};
