// Every error that leaves this project is a TsInductorError: a stable code, what happened, where, and what to do.

/** Where in the user's program something was written. `line` and `column` count from 1. */
export interface SourceLocation {
  readonly file: string;
  readonly line: number;
  readonly column?: number;
}

interface ErrorDetails {
  /** What to do about it, as one imperative sentence. */
  readonly hint?: string;
  readonly location?: SourceLocation | undefined;
  /** The same, where the message says it by itself. */
  readonly saidLocation?: SourceLocation;
  readonly cause?: unknown;
}

/** Base of all errors. `code` is stable: programs may branch on it. */
export class TsInductorError extends Error {
  override readonly name: string = 'TsInductorError';
  readonly code: string;
  readonly hint: string | undefined;
  readonly location: SourceLocation | undefined;

  constructor(code: string, message: string, details: ErrorDetails = {}) {
    super(composeMessage(message, details), details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.hint = details.hint;
    this.location = details.location ?? details.saidLocation;
  }
}

function composeMessage(message: string, { hint, location }: ErrorDetails): string {
  const where = location === undefined ? '' : `, at ${location.file}:${String(location.line)}`;
  return `${message}${where}${hint === undefined ? '' : `; ${hint}`}`;
}

/** The caller can fix it: a shape, a dtype, an option, an environment value, kernel source. */
export class UserError extends TsInductorError {
  override readonly name: string = 'UserError';
}

/** A compiler, linker or device tool is missing or failed. */
export class ToolchainError extends TsInductorError {
  override readonly name: string = 'ToolchainError';
  readonly command: readonly string[];
  readonly stderr: string;

  constructor(
    code: string,
    message: string,
    details: ErrorDetails & { readonly command?: readonly string[]; readonly stderr?: string } = {},
  ) {
    super(code, message, details);
    this.command = details.command ?? [];
    this.stderr = details.stderr ?? '';
  }
}

/** A bug of ours. The message says in which stage, and how to report it. */
export class InternalError extends TsInductorError {
  override readonly name: string = 'InternalError';
}

/** Whether `value` is one of our errors, also across realms (jest, workers), where `instanceof` fails. */
export const isTsInductorError = (value: unknown): value is TsInductorError =>
  typeof value === 'object' &&
  value !== null &&
  typeof (value as { code?: unknown }).code === 'string' &&
  ['TsInductorError', 'UserError', 'ToolchainError', 'InternalError'].includes(
    String((value as { name?: unknown }).name),
  );
