// What the caller's thread and the thread that speaks with the remote cache say to each other. Plain data only.
import type { MessagePort } from 'node:worker_threads';
import type { RedisOptions } from '@tsinductor/cache';
import type { Failure } from './protocol.ts';

export type RemoteRequest =
  | { readonly id: number; readonly kind: 'get'; readonly name: string }
  /** What another machine may be making: claimed, or waited for. */
  | { readonly id: number; readonly kind: 'claim'; readonly name: string; readonly milliseconds: number }
  /** What is to be built: by a worker, by another machine, or by who asks. */
  | {
      readonly id: number;
      readonly kind: 'build';
      readonly name: string;
      readonly key: string;
      readonly job: Uint8Array;
      readonly milliseconds: number;
    }
  | { readonly id: number; readonly kind: 'set'; readonly name: string; readonly bytes: Uint8Array };

/** What is asked, without its number. */
export type RemoteQuestion = RemoteRequest extends infer R ? (R extends unknown ? Omit<R, 'id'> : never) : never;

export interface RemoteResponse {
  readonly id: number;
  /** What was kept under the name that was asked for. */
  readonly bytes?: Uint8Array;
  readonly failure?: Failure;
  /** What did not work, although there is an answer. */
  readonly warning?: Failure;
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
