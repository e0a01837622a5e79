// `tsinductor tune`: measures what programs have recorded (`EJKERNEL_OPS_RECORD=1`), so that they need not.
import type { AddCommand, Context } from '../context.ts';
import { plural } from '../table.ts';

export const addTuneCommand: AddCommand = (parser, context) =>
  parser.command(
    'tune',
    'tunes the matrix products of graphs that programs have recorded (EJKERNEL_OPS_RECORD=1)',
    (command) =>
      command
        .option('exhaustive', {
          type: 'boolean',
          default: false,
          describe: 'tries choices together as well (maxAutotuneGemmSearchSpace)',
        })
        .option('descent', {
          type: 'boolean',
          default: false,
          describe: 'goes on from the fastest, one choice at a time (coordinateDescentTuning)',
        }),
    async ({ exhaustive, descent }) => {
      await tune(context, {
        ...(exhaustive && { maxAutotuneGemmSearchSpace: 'EXHAUSTIVE' }),
        ...(descent && { coordinateDescentTuning: true }),
      });
    },
  );

async function tune(context: Context, search: Readonly<Record<string, unknown>>): Promise<void> {
  const { withConfig } = await import('@tsinductor/config');
  const { tuneRecorded } = await import('@tsinductor/compiler');
  const config = withConfig(context.resolve().config, search);
  const graphs = tuneRecorded(config, {
    voice: {
      warn: (code, message) => {
        context.warn(`${code} ${message}`);
      },
      log: (_, message) => {
        context.warn(message);
      },
    },
    report: (done, total, { name, decisions, milliseconds, failure, without }) => {
      const what = failure === undefined ? plural(decisions.length, 'product') : `failed: ${failure}`;
      const lost =
        without.length === 0 ? '' : `, without ${without.join(' and ')} of the program, which may make other products`;
      context.warn(`[${String(done)}/${String(total)}] ${name}: ${what}, ${(milliseconds / 1000).toFixed(1)} s${lost}`);
    },
  });
  const failed = graphs.filter(({ failure }) => failure !== undefined).length;
  context.finish({
    data: { graphs },
    status: failed === 0 ? 0 : 1,
    text: () =>
      graphs.length === 0
        ? 'nothing is recorded here: run a program with EJKERNEL_OPS_RECORD=1 first'
        : [
            ...graphs.flatMap(({ name, decisions }) => decisions.map((line) => `${name}: ${line}`)),
            `${plural(graphs.length, 'graph')} tuned, ${String(failed)} failed`,
          ].join('\n'),
  });
}
