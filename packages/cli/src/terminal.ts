// Where a command writes. In: what it found, as data and as text. Out: text for people, or with `--json` one document
// for programs, and never both; with `--json FILE` the document goes to the file, beside the text. Commands get it as a value, so that tests can read what they wrote.
import { writeFileSync } from 'node:fs';
import picocolors from 'picocolors';

/** Functions that colour text, or leave it as it is. */
export type Colors = ReturnType<typeof picocolors.createColors>;

export interface Terminal {
  readonly json: boolean;
  /** Where the document goes instead, if a file was named. */
  readonly jsonFile: string | undefined;
  readonly colors: Colors;
  /** Writes a line of text for people. */
  line(text: string): void;
  /** Writes a line about the command itself: warnings and failures. */
  notice(text: string): void;
}

/** Two streams of text. */
export interface Streams {
  readonly out: (text: string) => void;
  readonly error: (text: string) => void;
  readonly color: boolean;
}

/** What was asked for: `--json`, `--json FILE` or `--json=FILE`. */
export interface JsonRequest {
  readonly json: boolean;
  readonly jsonFile: string | undefined;
}

export const makeTerminal = (streams: Streams, { json, jsonFile }: JsonRequest): Terminal => ({
  json,
  jsonFile,
  colors: picocolors.createColors(streams.color && !json),
  line: (text) => {
    streams.out(`${text}\n`);
  },
  notice: (text) => {
    streams.error(`${text}\n`);
  },
});

/** The result of a command: data, its rendering, and the exit status. */
export interface Outcome {
  readonly data: unknown;
  readonly text: (colors: Colors) => string;
  readonly status: 0 | 1;
}

/** Shows an outcome in the form that was asked for; gives the exit status. */
export function show(terminal: Terminal, { data, text, status }: Outcome): 0 | 1 {
  if (terminal.jsonFile !== undefined) writeFileSync(terminal.jsonFile, `${JSON.stringify(data, undefined, 2)}\n`);
  if (terminal.json) {
    terminal.line(JSON.stringify(data, undefined, 2));
  } else {
    const rendered = text(terminal.colors);
    if (rendered !== '') terminal.line(rendered);
  }
  return status;
}
