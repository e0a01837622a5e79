// What a compiler tells its user: warnings, each once, and the logs that the settings ask for.
import type { Config } from '@tsinductor/config';

/** Where a session says what a user should know. */
export interface Voice {
  warn(code: string, message: string): void;
  log(topic: string, message: string): void;
}

export class Announcer {
  readonly #voice: Voice;
  readonly #warned = new Set<string>();

  constructor(voice: Voice) {
    this.#voice = voice;
  }

  /** Says something once per `topic`; its first word is the code. */
  warnOnce(topic: string, message: string): void {
    if (this.#warned.has(topic)) return;
    this.#warned.add(topic);
    this.#voice.warn(topic.split(' ')[0] ?? topic, message);
  }

  /** Says something about a topic that is always told. */
  tell(topic: string, message: string): void {
    this.#voice.log(topic, message);
  }

  /** Says something about a topic of the setting `torchLogs`. */
  log(topic: string, message: string, { torchLogs }: Pick<Config, 'torchLogs'>): void {
    if (torchLogs.some((name) => name.replace(/^[+]/, '') === topic)) this.#voice.log(topic, message);
  }
}

export const messageOf = (error: unknown): string => String((error as { message?: unknown } | null)?.message ?? error);
