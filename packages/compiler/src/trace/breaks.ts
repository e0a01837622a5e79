// Which errors of a trace mean that the function cannot be one graph, rather than that the user made one.
import { isTsInductorError } from '@tsinductor/base';
import type { TsInductorError } from '@tsinductor/base';

const breaking = ['DATA_DEPENDENT', 'GRAPH_LEFT', 'TRACE_WRITE', 'REPEATED_MUTATION', 'ARGUMENT_UNSUPPORTED', 'RESULT_UNSUPPORTED', 'PRIVATE_STATE']; // prettier-ignore

export const breaksGraph = (error: unknown): error is TsInductorError =>
  isTsInductorError(error) && breaking.includes(error.code);
