// What a worker thread does: imports the program's module, calls its function, and sends what that gives.
import { noSuchExport, threwNothing } from './errors.ts';
import { toSend } from './thread-values.ts';
import type { BatchRequest } from './worker-options.ts';

/** A batch to make, and by what. */
export interface PrepareTask {
  /** As `import` takes it. */
  readonly module: string;
  readonly name: string;
  readonly request: BatchRequest;
}

/** How a module is imported: by the thread's own program, since what this file is bundled into may import nothing by a name. */
type Import = (module: string) => Promise<Readonly<Record<string, unknown>>>;

type Make = (request: BatchRequest) => unknown;

/** What the function gives. Nothing that is thrown is still a failure. */
async function called(make: Make, request: BatchRequest): Promise<unknown> {
  try {
    return await make(request);
  } catch (cause) {
    if (cause === undefined || cause === null) throw threwNothing(cause);
    throw cause;
  }
}

/** A batch, ready to be sent to the thread that asked for it; memory of its tensors is handed over. */
export async function prepareBatch({ module, name, request }: PrepareTask, importModule: Import): Promise<unknown> {
  const exported = await importModule(module);
  const make = exported[name];
  if (typeof make !== 'function') throw noSuchExport(module, name, Object.keys(exported));
  const { value, memory } = toSend(await called(make as Make, request));
  const { move, transferableSymbol, valueSymbol } = await import('piscina');
  const sent: unknown = { [transferableSymbol]: memory, [valueSymbol]: value };
  return move(sent as Parameters<typeof move>[0]);
}
