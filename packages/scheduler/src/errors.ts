// Every error of the scheduler, by name: each is a mistake of a hook that the program gave. The scheduler refuses nothing
// else, it decides.
import { UserError } from '@tsinductor/base';

/** A custom pass gave something else than nodes or groups, or an order in which something is read before it is made. */
export const badCustomPass = (setting: string, what: string, cause?: unknown): UserError =>
  new UserError('CUSTOM_PASS', `${setting}: ${what}`, {
    hint: 'return what the pass was given, reordered so that everything is written before it is read',
    cause,
  });

/** The hook that gives the scheduler's choices gave something that is none. */
export const badChoices = (what: string): UserError =>
  new UserError('CUSTOM_CHOICES', `inductor_choices_class: ${what}`, {
    hint: 'return an object with some of the functions inline, refuseGroup, refuseSiblings, refuseCombination',
  });
