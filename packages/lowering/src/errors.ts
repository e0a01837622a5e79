// Every error that lowering can raise. Graphs are checked when they are built, so all of these are bugs of ours.
import { InternalError } from '@tsinductor/base';

const hint = 'this is a bug: please report it with the graph';

/** A node that lowering has no rule for: a composite that was not decomposed. */
export const unknownPrimitive = (target: string): InternalError =>
  new InternalError('LOWERING_UNKNOWN_PRIMITIVE', `lowering: ${target} is not a primitive`, { hint });

/** A primitive's node with arguments or attributes of another form than its contract states. */
export const malformedNode = (target: string, what: string): InternalError =>
  new InternalError('LOWERING_MALFORMED_NODE', `lowering of ${target}: ${what}`, { hint });
