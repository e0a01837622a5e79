// The thread that speaks with the remote cache: its event loop turns while the caller waits, or works. Requests come over the port and
// answers go back; who waits for one is told through the shared memory.
import { workerData } from 'node:worker_threads';
import { builtElsewhere, getOrClaim, openRedis } from '@tsinductor/cache';
import type { RedisOptions, RemoteLevel } from '@tsinductor/cache';
import { describeFailure } from './failure.ts';
import { remoteAnswers, remoteWrites } from './remote-protocol.ts';
import type { Failure } from './protocol.ts';
import type { RemoteRequest, RemoteResponse, RemoteThreadData } from './remote-protocol.ts';

serve(workerData as RemoteThreadData);

function serve({ port, shared, options }: RemoteThreadData): void {
  const level = openRedis(options);
  const answer = async (request: RemoteRequest): Promise<void> => {
    port.postMessage(await responseTo(request, level, options));
    if (request.kind === 'set') {
      Atomics.sub(shared, remoteWrites, 1);
      Atomics.notify(shared, remoteWrites);
    }
    Atomics.add(shared, remoteAnswers, 1);
    Atomics.notify(shared, remoteAnswers);
  };
  port.on('message', (request: RemoteRequest) => {
    void answer(request);
  });
}

async function responseTo(request: RemoteRequest, level: RemoteLevel, options: RedisOptions): Promise<RemoteResponse> {
  const { id } = request;
  let warning: Failure | undefined;
  const warn = (error: Error): void => {
    warning = describeFailure(error);
  };
  try {
    const bytes = await bytesFor({ ...request, warn }, level, options);
    return { id, ...(bytes === undefined ? {} : { bytes }), ...(warning === undefined ? {} : { warning }) };
  } catch (error) {
    return { id, failure: describeFailure(error) };
  }
}

async function bytesFor(
  request: RemoteRequest & { readonly warn: (error: Error) => void },
  level: RemoteLevel,
  options: RedisOptions,
): Promise<Uint8Array | undefined> {
  switch (request.kind) {
    case 'get':
      return await level.get(request.name);
    case 'claim':
      return await getOrClaim(level, request.name, request.milliseconds);
    case 'build':
      return await builtElsewhere(options, level, request);
    case 'set':
      await level.set(request.name, request.bytes);
      return undefined;
  }
}
