// A contender's process: starts it, sends requests, awaits answers. Ends it on close, on silence, and with the harness.
import { spawn } from 'node:child_process';
import type { ChildProcessByStdio } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { childEnded, childSilent } from './errors.ts';

export interface Command {
  readonly program: string;
  readonly args: readonly string[];
  /** Variables to set, and those to clear (undefined). */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
}

interface Waiting {
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: unknown) => void;
}

export class Child implements Disposable {
  readonly #name: string;
  readonly #process: ChildProcessByStdio<Writable, Readable, Readable>;
  #waiting: Waiting | undefined;
  #errorText = '';
  #ended: string | undefined;

  constructor(name: string, command: Command) {
    this.#name = name;
    // `env` changes the environment of one program without reading ours.
    const variables = Object.entries(command.env ?? {});
    const cleared = variables.flatMap(([key, value]) => (value === undefined ? ['-u', key] : []));
    const set = variables.flatMap(([key, value]) => (value === undefined ? [] : [`${key}=${value}`]));
    this.#process = spawn('env', [...cleared, ...set, command.program, ...command.args], {
      cwd: command.cwd,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.#process.stderr.on(
      'data',
      (data: Buffer) => (this.#errorText = (this.#errorText + String(data)).slice(-4000)),
    );
    this.#process.stdin.on('error', () => undefined);
    this.#process.on('error', (error) => this.#end(error.message));
    this.#process.on('exit', (code, signal) =>
      this.#end(`exit ${String(code ?? signal)}; ${tellingLine(this.#errorText)}`),
    );
    createInterface({ input: this.#process.stdout }).on('line', (line) => this.#receive(line));
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  /** Sends one request and awaits its answer. */
  async ask(request: object, seconds: number): Promise<unknown> {
    if (this.#ended !== undefined) throw childEnded(this.#name, this.#ended);
    let timer: NodeJS.Timeout | undefined;
    try {
      return await new Promise<unknown>((resolve, reject) => {
        this.#waiting = { resolve, reject };
        timer = setTimeout(() => {
          reject(childSilent(this.#name, seconds));
          this[Symbol.dispose]();
        }, seconds * 1000);
        this.#process.stdin.write(`${JSON.stringify(request)}\n`);
      });
    } finally {
      clearTimeout(timer);
      this.#waiting = undefined;
    }
  }

  [Symbol.dispose](): void {
    this.#process.kill('SIGKILL');
  }

  #receive(line: string): void {
    if (line.startsWith('{')) this.#waiting?.resolve(JSON.parse(line));
  }

  #end(detail: string): void {
    this.#ended ??= detail;
    this.#waiting?.reject(childEnded(this.#name, this.#ended));
  }
}

/** The line of a crash that says what happened. */
const tellingLine = (text: string): string => {
  const lines = text.trim().split('\n');
  return lines.find((line) => /^\s*(\w*Error|\[?\w+\]?: error)\b/.test(line))?.trim() ?? lines.at(-1) ?? '';
};
