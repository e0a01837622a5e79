// The events of a directory that TORCH_TRACE named. In: the directory. Out: the events of each process, in the order of time.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { RecordedEvent } from '@tsinductor/compiler';
import { noTrace } from '../errors.ts';

export interface TracedProcess {
  readonly id: string;
  readonly events: readonly RecordedEvent[];
}

const fileName = /^tsinductor-(\d+)\.jsonl$/;

/** Throws UserError CLI_TRACE where the directory holds no events. */
export function readTrace(directory: string): readonly TracedProcess[] {
  const files = existsSync(directory) ? readdirSync(directory).sort() : [];
  const processes = files.flatMap((file) => {
    const id = fileName.exec(file)?.[1];
    return id === undefined ? [] : [{ id, events: eventsIn(readFileSync(join(directory, file), 'utf8')) }];
  });
  if (processes.every(({ events }) => events.length === 0)) throw noTrace(directory);
  return processes;
}

/** A process that was killed may leave half a line at the end. */
function eventsIn(text: string): readonly RecordedEvent[] {
  return text
    .split('\n')
    .flatMap((line) => parsed(line) ?? [])
    .sort((a, b) => a.at - b.at);
}

function parsed(line: string): RecordedEvent | undefined {
  try {
    return JSON.parse(line) as RecordedEvent;
  } catch {
    return undefined;
  }
}
