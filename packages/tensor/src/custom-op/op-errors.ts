// Every error that defining or calling a custom op can cause, by name. Messages name the op; what users wrote in it
// stands there as data.
import { UserError } from '@tsinductor/base';
import { describe } from '../errors.ts';

export const badOpName = (name: unknown, why: string): UserError =>
  new UserError('CUSTOM_OP_NAME', `defineOp: the name is ${describe(name)}, ${why}`, {
    hint: "give it a namespace of yours and a name, as in 'mylib::scaled_add'",
  });

export const opNameTaken = (name: string): UserError =>
  new UserError('CUSTOM_OP_NAME_TAKEN', `defineOp: there is a custom op ${name} already`, {
    hint: 'define each op once, or dispose() the first one before it is defined anew',
  });

/** An entry of the definition is missing, unknown, or of another kind. */
export const badDefinition = (op: string, what: string, hint: string): UserError =>
  new UserError('CUSTOM_OP_DEFINITION', `defineOp ${op}: ${what}`, { hint });

export const disposedOp = (op: string): UserError =>
  new UserError('CUSTOM_OP_DISPOSED', `custom op ${op} was disposed`, {
    hint: 'define it again, and call the new one',
  });

/** `who` is the implementation that gave it: eager or lowering. */
export const badOpResult = (op: string, who: string, what: string): UserError =>
  new UserError('CUSTOM_OP_RESULT', `custom op ${op}: its ${who} gave ${what}`, {
    hint: 'give what the schema says: a Tensor, a list of them where there are several, nothing for ()',
  });

export const aliasedOpResult = (op: string, who: string, what: string): UserError =>
  new UserError('CUSTOM_OP_ALIAS', `custom op ${op}: its ${who} gave ${what}`, {
    hint: 'give memory of its own, as clone() makes it, or mark an argument that is written to and given: Tensor(a!)',
  });

/** What `meta` says is no shape and dtype, or not what `eager` gives. */
export const badOpMeta = (op: string, what: string): UserError =>
  new UserError('CUSTOM_OP_META', `custom op ${op}: ${what}`, {
    hint: 'let meta give { shape, dtype } of each new result, as eager makes it',
  });
