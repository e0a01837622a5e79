// What a program did in a segment, operator by operator. In: calls and writes as they are recorded. Out: the same carried
// out eagerly, one by one, for a segment that cannot be run as a whole: because a check in it fails (then the state is what
// eager execution leaves, up to the operator that failed), or because it is not to be compiled.
import { at } from '@tsinductor/base';
import { decompose } from '@tsinductor/graph';
import type { ValueRef } from '@tsinductor/graph';
import type { Index } from '@tsinductor/ir';
import type { BoundCall } from '../bound-call.ts';
import { GraphProgram } from '../eager/graph-program.ts';
import type { EagerExecutor } from '../eager/executor.ts';
import type { Layout } from '../layout.ts';
import type { Placed } from '../recorder.ts';
import { outsideScopes } from '../scope.ts';
import { fulfil, placedTensor } from '../tensor.ts';
import type { Tensor } from '../tensor.ts';
import { sendTo } from '../transfer.ts';
import { writeElements } from '../write.ts';
import type { EndedSegment } from './ended-segment.ts';
import type { TraceSession } from './session.ts';
import type { Memory, TracedView } from './traced-memory.ts';

type Backing = Tensor['backing'];

type Action =
  | {
      readonly kind: 'call';
      readonly call: BoundCall;
      readonly operands: readonly Backing[];
      readonly results: readonly Tensor[];
      readonly handles: readonly object[];
    }
  | { readonly kind: 'write'; readonly target: Operand; readonly value: Operand; readonly operation: string }
  | { readonly kind: 'carry'; readonly memory: Memory; readonly ended: EndedSegment; readonly ref: ValueRef };

interface Operand {
  readonly tensor: Tensor;
  readonly backing: Backing;
}

const operand = (tensor: Tensor): Operand => ({ tensor, backing: tensor.backing });

/** What replaying needs of its surroundings. */
interface Replaying {
  readonly executor: EagerExecutor;
  readonly newSession: () => TraceSession;
  /** Of the segment's symbolic sizes. */
  readonly sizeOf: (index: Index) => number;
  /** Memory is about to change. */
  protect(place: Placed): void;
}

export class SegmentLog {
  readonly #actions: Action[] = [];

  get length(): number {
    return this.#actions.length;
  }

  call(call: BoundCall, operands: readonly Backing[], results: readonly Tensor[]): void {
    const handles = results.map(({ backing }) => backing);
    this.#actions.push({ kind: 'call', call, operands, results, handles: handles.map(handleOf) });
  }

  write(target: Tensor, value: Tensor, operation: string): void {
    this.#actions.push({ kind: 'write', target: operand(target), value: operand(value), operation });
  }

  carry(memory: Memory, ended: EndedSegment): void {
    this.#actions.push({ kind: 'carry', memory, ended, ref: memory.current });
  }

  /** Does it all, eagerly; every tensor that was recorded gets its memory. */
  replay(surroundings: Replaying): void {
    const places = new Map<object, Placed>();
    for (const action of this.#actions) {
      switch (action.kind) {
        case 'call':
          this.#call(action, places, surroundings.executor);
          break;
        case 'write': {
          const [target, value] = [placed(action.target, places), placed(action.value, places)];
          surroundings.protect(placeIn(target));
          writeElements(target, value, action.operation);
          break;
        }
        case 'carry':
          carried(action, places, surroundings);
          break;
      }
    }
  }

  #call(
    { call, operands, results, handles }: Action & { readonly kind: 'call' },
    places: Map<object, Placed>,
    executor: EagerExecutor,
  ): void {
    const tensors = call.tensors.map((tensor, position) => placed({ tensor, backing: at(operands, position) }, places));
    outsideScopes(() => executor.run({ ...call, tensors })).forEach((made, position) => {
      const place = placeIn(made);
      places.set(at(handles, position), place);
      give(at(results, position), place);
    });
  }
}

const handleOf = (backing: Backing): object => (backing.kind === 'recorded' ? backing.handle : backing);

function placeIn({ backing }: Tensor): Placed {
  return backing as Placed;
}

/** A tensor as it was when it was recorded, over the memory that it has now. */
function placed({ tensor, backing }: Operand, places: ReadonlyMap<object, Placed>): Tensor {
  const place = backing.kind === 'recorded' ? places.get(backing.handle) : backing;
  if (place?.kind !== 'placed') return tensor;
  return outsideScopes(() => placedTensor(tensor.dtype, place.storage, place.layout));
}

function give(tensor: Tensor, place: Placed): void {
  if (tensor.backing.kind === 'recorded') fulfil(tensor, place);
}

/** A value of an earlier segment, by the interpreter. */
function carried(
  { memory, ended, ref }: Action & { readonly kind: 'carry' },
  places: Map<object, Placed>,
  { newSession, sizeOf }: Replaying,
): void {
  const session = newSession();
  session.builder.output(ended.express(ref, session));
  const program = new GraphProgram(decompose(session.graph(), session.sizes));
  const made = at(program.run(session.placeholders.map(({ tensor }) => tensor)), 0);
  const root = placeIn(sendTo(made, memory.device));
  const handles = memory.tensors.map(({ backing }) => handleOf(backing));
  settle(memory, root, sizeOf);
  memory.tensors.forEach(({ backing }, position) => {
    if (backing.kind === 'placed') places.set(at(handles, position), backing);
  });
}

/** All tensors over a memory get theirs, which begins where `root` does. */
export function settle(
  { tensors }: Memory,
  { storage, layout: { offset } }: Placed,
  sizeOf: (index: Index) => number,
): void {
  for (const tensor of tensors) {
    if (tensor.backing.kind !== 'recorded') continue;
    const { layout, fixed } = tensor.backing.handle as TracedView;
    if (fixed !== undefined) {
      fulfil(tensor, { kind: 'placed', storage, layout: offset === 0 ? fixed : movedBy(fixed, offset) });
      continue;
    }
    fulfil(tensor, {
      kind: 'placed',
      storage,
      layout: {
        shape: layout.shape.map(sizeOf),
        strides: layout.strides.map(sizeOf),
        offset: offset + sizeOf(layout.offset),
      },
    });
  }
}

const movedBy = ({ shape, strides, offset }: Layout, by: number): Layout => ({ shape, strides, offset: offset + by });
