// `tsinductor explain FILE`: what was compiled in a module: graphs, kernels, guards, why (not) fused.
import type { AddCommand } from '../context.ts';

export const addExplainCommand: AddCommand = (parser, context) =>
  parser.command(
    'explain <file>',
    'what was compiled in a module, and why (not) fused',
    (command) =>
      command
        .positional('file', { type: 'string', demandOption: true, describe: 'a TypeScript or JavaScript module' })
        .option('source', { type: 'boolean', default: false, describe: 'also the generated C++' })
        .option('stage', {
          type: 'string',
          requiresArg: true,
          describe: 'what this stage of the compiler makes, and no more',
        }),
    async ({ file, source, stage }) => {
      // The compiler is loaded by this command only: the others start without it.
      const { explainFile } = await import('../explain-file.ts');
      context.finish(await explainFile(file, { source, stage }));
    },
  );
