// `tsinductor trace report DIR`: a page of what was recorded in the directory that TORCH_TRACE named.
import type { AddCommand } from '../context.ts';

export const addTraceCommand: AddCommand = (parser, context) =>
  parser.command('trace', 'what TORCH_TRACE recorded', (command) =>
    command
      .command(
        'report <directory>',
        'make a page of it: graphs, stages, kernels beside their lines, guards, a timeline',
        (report) =>
          report
            .positional('directory', {
              type: 'string',
              demandOption: true,
              describe: 'the directory that TORCH_TRACE named',
            })
            .option('out', {
              type: 'string',
              requiresArg: true,
              describe: 'the file to write; report.html in the directory, if left out',
            }),
        async ({ directory, out }) => {
          // The compiler is loaded for the page alone: other commands start without it.
          const { traceReport } = await import('../trace-report/trace-report.ts');
          context.finish(await traceReport(directory, out));
        },
      )
      .demandCommand(1, 'trace needs a command: report'),
  );
