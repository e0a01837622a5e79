// What a compiler tells its user: warnings, each once, and the logs that the settings ask for. What is logged goes to the voice, and
// into a file where the settings name one.
import { appendFileSync, mkdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isLogged } from '@tsinductor/config';
import type { Config, LogTopic } from '@tsinductor/config';
import { appendEvent } from '../structured-trace/trace-event.ts';
import type { TraceEvent } from '../structured-trace/trace-event.ts';

/** Where a session says what a user should know. */
export interface Voice {
  warn(code: string, message: string): void;
  log(topic: string, message: string): void;
}

/** What of the settings says how much is told, and where. */
type Telling = Pick<Config, 'loglevel' | 'torchLogsOut'>;

export class Announcer {
  readonly #voice: Voice;
  readonly #telling: Telling;
  readonly #warned = new Set<string>();

  constructor(voice: Voice, telling: Telling) {
    this.#voice = voice;
    this.#telling = telling;
  }

  /** Says something once per `topic`; its first word is the code. */
  warnOnce(topic: string, message: string): void {
    if (this.#warned.has(topic)) return;
    this.#warned.add(topic);
    const { loglevel } = this.#telling;
    if (loglevel === 'ERROR' || loglevel === 'CRITICAL') return;
    this.#voice.warn(topic.split(' ')[0] ?? topic, message);
  }

  /** Says something about a topic that is always told. */
  tell(topic: string, message: string, { torchLogsOut }: Telling = this.#telling): void {
    this.#voice.log(topic, message);
    if (torchLogsOut === null) return;
    try {
      appendFileSync(logFileOf(torchLogsOut), `[${topic}] ${message}\n`, { mode: 0o600 });
    } catch (error) {
      this.warnOnce('LOG_FILE', `logs cannot be written to ${torchLogsOut}: ${messageOf(error)}`);
    }
  }

  /** Says something about a topic of the setting `torchLogs`, which is made only where it is asked for. */
  log(topic: LogTopic, message: () => string, config: Telling & Pick<Config, 'torchLogs'>): void {
    if (isLogged(topic, config.torchLogs)) this.tell(topic, message(), config);
  }

  /** Records an event of the function `name`, which is made only where `torchTrace` says where to. */
  record(name: string, event: () => TraceEvent, { torchTrace }: Pick<Config, 'torchTrace'>): void {
    if (torchTrace === null) return;
    try {
      appendEvent(torchTrace, name, event());
    } catch (error) {
      this.warnOnce('TRACE_DIRECTORY', `events cannot be written to ${torchTrace}: ${messageOf(error)}`);
    }
  }
}

/** The file of this process: a directory has one for each. */
function logFileOf(path: string): string {
  const isDirectory = path.endsWith('/') || statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  const file = isDirectory ? join(path, `tsinductor-${String(process.pid)}.log`) : path;
  mkdirSync(dirname(file), { recursive: true });
  return file;
}

export const messageOf = (error: unknown): string => String((error as { message?: unknown } | null)?.message ?? error);
