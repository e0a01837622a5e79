// Starts the process that compiles a program's examples, and hears what comes of them. In: the functions that declare some. Out: what was
// compiled, and what failed, at its place in the program.
import { fork } from 'node:child_process';
import { buildFailed } from '../errors.ts';
import { examplesProgram } from '../import-module.ts';
import type { Progress } from './build-project.ts';
import type { Diagnostic } from './diagnostic.ts';
import type { BuiltFunction, ExamplesMessage, ExamplesRequest } from './examples-protocol.ts';
import type { CompileSite } from './find-sites.ts';
import type { OpenedProject } from './project.ts';

interface ExamplesRun {
  readonly sites: readonly CompileSite[];
  readonly bundle: string;
  readonly progress: Progress;
}

interface ExamplesResult {
  readonly failures: readonly Diagnostic[];
  readonly functions: readonly BuiltFunction[];
  /** Whether something was compiled, so that there is a new bundle. */
  readonly isSaved: boolean;
}

export async function runExamples(
  project: OpenedProject,
  { sites, bundle, progress }: ExamplesRun,
): Promise<ExamplesResult> {
  if (sites.length === 0) return { failures: [], functions: [], isSaved: false };
  const places = sites.map((site) => placeOf(project, site));
  const modules = [...new Set(places.map(({ file }) => file))];
  const failures: Diagnostic[] = [];
  const functions: BuiltFunction[] = [];
  let isSaved = false;
  const met = new Set<SitePlace>();
  const meet = (at: Pick<SitePlace, 'file' | 'line'>): SitePlace | undefined => {
    const place = places.find(({ file, line, end }) => file === at.file && line <= at.line && at.line <= end);
    if (place !== undefined) met.add(place);
    return place;
  };
  await conversation({ modules, bundle }, (message) => {
    switch (message.kind) {
      case 'failure': {
        const { failure } = message;
        const { name, line, column } = meet(failure) ?? { name: 'it', line: failure.line, column: 1 };
        failures.push({ ...failure, line, column, message: `${name} cannot be compiled: ${failure.message}` });
        break;
      }
      case 'unloaded':
        failures.push({ code: 'TSI3001', file: message.file, line: 1, column: 1, message: message.reason });
        for (const place of places) if (place.file === message.file) met.add(place);
        break;
      case 'progress': {
        const built = { ...message.built, name: meet(message.built)?.name ?? message.built.name };
        functions.push(built);
        progress(message.done, message.total, built);
        break;
      }
      case 'end':
        isSaved = message.bytes > 0;
        break;
    }
  });
  return {
    failures: [...failures, ...places.filter((place) => !met.has(place)).map(unmet)],
    functions: functions.sort((a, b) => (a.file === b.file ? a.line - b.line : a.file < b.file ? -1 : 1)),
    isSaved,
  };
}

interface SitePlace {
  readonly name: string;
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** The last line of the call. */
  readonly end: number;
}

function placeOf(project: OpenedProject, { node, name }: CompileSite): SitePlace {
  const { file, line, column } = project.wrong(node, 'TSI3003', '');
  return { name, file, line, column, end: line + node.getText().split('\n').length - 1 };
}

/** Of a function that nobody made while the modules were loaded: its call stands in a function that was not called. */
const unmet = ({ name, file, line, column }: SitePlace): Diagnostic => ({
  code: 'TSI3003',
  file,
  line,
  column,
  message: `${name} declares examples, and is not made when its module is loaded: compile it at the top of the module`,
});

/** Says the request, and hears messages until the last one. Throws UserError CLI_BUILD where the process ends before. */
function conversation(request: ExamplesRequest, hear: (message: ExamplesMessage) => void): Promise<void> {
  const child = fork(examplesProgram, [], { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
  // What modules print is none of our output.
  child.stdout?.pipe(process.stderr, { end: false });
  return new Promise((done, fail) => {
    let isOver = false;
    child.on('message', (message) => {
      hear(message as ExamplesMessage);
      isOver ||= (message as ExamplesMessage).kind === 'end';
    });
    child.on('error', fail);
    child.on('exit', (code, signal) => {
      if (isOver) done();
      else fail(buildFailed(`their process ended with ${signal ?? String(code)}`));
    });
    child.send(request);
  });
}
