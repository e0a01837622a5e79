// The errors of this package, by name. Those of `check.ts` stand there: it is what everything else rests on.
import { InternalError, isTsInductorError } from './error.ts';

/** What a stage made breaks a law: the message says which. */
export function stageBrokeLaw(stage: string, cause: unknown): InternalError {
  const law = isTsInductorError(cause) ? cause.message : String(cause);
  return new InternalError('STAGE_LAW', `what the stage ${stage} made breaks a law: ${law}`, { cause });
}
