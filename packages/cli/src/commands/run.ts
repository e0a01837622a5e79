// `tsinductor run FILE [arguments...]`: runs a graph that TORCH_COMPILE_DEBUG kept (its folder, or graph.json in it); or a program,
// TypeScript too, with the logs of recompilations and graph
// breaks on, and says what memory it took if asked to. The program is a process of its own; its exit status is ours.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { AddCommand } from '../context.ts';
import { fileMissing } from '../errors.ts';
import { memoryReport, resolveHook } from '../import-module.ts';
import { typeScriptLoader } from '../typescript-loader.ts';

interface RunRequest {
  readonly file: string;
  readonly args: readonly string[];
  /** Topics of TORCH_LOGS; what the environment says wins. */
  readonly logs: readonly string[];
  /** What is said at the end beside. */
  readonly reports: readonly 'memory'[];
}

export const addRunCommand: AddCommand = (parser, context) =>
  parser.command(
    'run <file> [args..]',
    'run a program with the logs of the compiler on',
    (command) =>
      command
        .positional('file', {
          type: 'string',
          demandOption: true,
          describe: 'a TypeScript or JavaScript module, or a graph that was kept',
        })
        .positional('args', { type: 'string', array: true, default: [], describe: 'its arguments' })
        .option('logs', {
          type: 'string',
          default: 'recompiles,graph_breaks',
          describe: 'topics, unless TORCH_LOGS says some',
        })
        .option('memory', {
          type: 'boolean',
          default: false,
          describe: 'say at the end what memory tensors hold, what waits for reuse, and the peak',
        }),
    async ({ file, logs, args, memory }) => {
      const saved = savedGraphAt(file);
      if (saved !== undefined) {
        // The compiler is loaded in this process for a graph alone: a program is a process of its own.
        const { replayFile } = await import('../replay-file.ts');
        context.finish(replayFile(saved));
        return;
      }
      context.status = await runProgram({ file, args, logs: logs.split(','), reports: memory ? ['memory'] : [] });
    },
  );

/** The file of a saved graph, where the path is one, or a folder with one. */
function savedGraphAt(path: string): string | undefined {
  const inFolder = join(path, 'graph.json');
  if (existsSync(inFolder)) return inFolder;
  return path.endsWith('.json') && existsSync(path) ? path : undefined;
}

/** Runs a program to its end; gives its exit status. */
async function runProgram({ file, args, logs, reports }: RunRequest): Promise<number> {
  const path = resolve(file);
  if (!existsSync(path)) throw fileMissing(path);
  // The child sets its own variable, unless it has one, before anything of ours is imported there.
  const assignment = `globalThis.process.env.TORCH_LOGS ??= ${JSON.stringify(logs.join(','))};`;
  const registration = `import { register } from 'node:module'; register(${JSON.stringify(resolveHook)});`;
  const reporting = `import { reportAtExit } from ${JSON.stringify(memoryReport)}; reportAtExit(${JSON.stringify(path)});`;
  const loader = typeScriptLoader(path, '.');
  const preloads = [preload(assignment), ...(loader === undefined ? [] : [loader]), preload(registration)];
  if (reports.includes('memory')) preloads.push(preload(reporting));
  const imports = preloads.flatMap((url) => ['--import', url]);
  const child = spawn(process.execPath, [...imports, path, ...args], { stdio: 'inherit' });
  return new Promise((done, fail) => {
    child.on('error', fail);
    child.on('exit', (code, signal) => {
      done(code ?? (signal === null ? 1 : 128));
    });
  });
}

const preload = (source: string): string => `data:text/javascript,${encodeURIComponent(source)}`;
