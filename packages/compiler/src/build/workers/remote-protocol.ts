// What the caller's thread and the thread that speaks with the remote cache say to each other. Plain data only.
import type { MessagePort } from 'node:worker_threads';
import type { RedisOptions } from '@tsinductor/cache';
import type { Failure } from './protocol.ts';

export type RemoteRequest =
  | { readonly id: number; readonly kind: 'get'; readonly name: string }
  | { readonly id: number; readonly kind: 'set'; readonly name: string; readonly bytes: Uint8Array };

export interface RemoteResponse {
  readonly id: number;
  /** What was kept under the name that was asked for. */
  readonly bytes?: Uint8Array;
  readonly failure?: Failure;
}

/** What the thread is started with. */
export interface RemoteThreadData {
  readonly port: MessagePort;
  readonly shared: Int32Array;
  readonly options: RedisOptions;
}

/** Layout of the shared Int32Array: answers posted so far, and writes that are not done. */
export const remoteAnswers: number = 0;
export const remoteWrites: number = 1;
export const remoteLength: number = 2;
