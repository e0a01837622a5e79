// `tsinductor build [tsconfig]`: checks what a project gives to the compiler, and compiles the functions that declare examples into a
// bundle, which a program loads where there is no compiler.
import { relative } from 'node:path';
import type { BuildResult } from '../build/build-project.ts';
import type { AddCommand, Context } from '../context.ts';
import { formatBytes, plural } from '../table.ts';
import type { Colors, Outcome } from '../terminal.ts';

export const addBuildCommand: AddCommand = (parser, context) =>
  parser.command(
    'build [project]',
    'check a project, and compile the functions in it that declare examples',
    (command) =>
      command
        .positional('project', {
          type: 'string',
          default: '.',
          describe: 'a tsconfig, or a directory that has one',
        })
        .option('check', { type: 'boolean', default: false, describe: 'only look: needs no C++ compiler' })
        .option('watch', { type: 'boolean', default: false, describe: 'again, whenever a file of the project changes' })
        .option('out', {
          type: 'string',
          requiresArg: true,
          describe: 'the bundle; tsinductor.bundle beside the tsconfig, if left out',
        }),
    async ({ project, check, watch, out }) => {
      const request = { project, bundle: out, isCheck: check };
      const once = async (): Promise<BuildResult> => {
        // ts-morph is loaded for this command alone.
        const { buildProject } = await import('../build/build-project.ts');
        const { printDiagnostic } = await import('../build/diagnostic.ts');
        const result = await buildProject(request, (done, total, { name, graphs, milliseconds }) => {
          context.warn(
            `[${String(done)}/${String(total)}] ${name}: ${plural(graphs, 'graph')}, ${milliseconds.toFixed(0)} ms`,
          );
        });
        context.finish(outcomeOf(result, { isCheck: check, print: (one) => printDiagnostic(one, process.cwd()) }));
        return result;
      };
      if (watch) await watching(once, project, context);
      else await once();
    },
  );

async function watching(once: () => Promise<BuildResult>, project: string, context: Context): Promise<void> {
  const { watchProject } = await import('../build/watch-project.ts');
  const { projectFiles } = await import('../build/build-project.ts');
  await watchProject({ once, list: () => projectFiles(project), say: context.warn });
}

interface Showing {
  readonly isCheck: boolean;
  readonly print: (one: BuildResult['diagnostics'][number]) => string;
}

function outcomeOf(result: BuildResult, { isCheck, print }: Showing): Outcome {
  const { files: _, ...data } = result;
  const { diagnostics } = result;
  return {
    data,
    status: diagnostics.length === 0 ? 0 : 1,
    text: (colors) => [...diagnostics.map((one) => print(one)), summaryOf(result, { isCheck, colors })].join('\n'),
  };
}

function summaryOf(
  { diagnostics, sites, functions, bundle, isUpToDate }: BuildResult,
  { isCheck, colors }: { readonly isCheck: boolean; readonly colors: Colors },
): string {
  if (diagnostics.length > 0) return colors.red(plural(diagnostics.length, 'error'));
  const made =
    bundle === undefined
      ? 'nothing declares examples'
      : `${relative(process.cwd(), bundle.file)}: ${plural(functions.length, 'function')}, ${formatBytes(bundle.bytes)}`;
  if (isUpToDate) return `nothing has changed; ${made}`;
  const counts = [
    plural(sites.filter(({ kind }) => kind === 'compile').length, 'compiled function'),
    plural(sites.filter(({ kind }) => kind === 'kernel').length, 'kernel'),
  ].join(' and ');
  return isCheck ? `${counts}: no errors` : `${counts}; ${made}`;
}
