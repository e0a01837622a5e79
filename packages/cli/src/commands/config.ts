// `tsinductor config [name]`: every setting, its value, and where that came from.
import { describeSource, explainConfig } from '@tsinductor/config';
import type { Config, ExplainedSetting } from '@tsinductor/config';
import type { AddCommand } from '../context.ts';
import { noSuchSetting } from '../errors.ts';
import { renderTable } from '../table.ts';
import type { Outcome } from '../terminal.ts';

interface ConfigRequest {
  /** Only settings with this in one of their names. */
  readonly name?: string;
  /** Only settings that are not at their default. */
  readonly changed: boolean;
}

export const addConfigCommand: AddCommand = (parser, context) =>
  parser.command(
    'config [name]',
    'settings, their values, and where these came from',
    (command) =>
      command
        .positional('name', { type: 'string', describe: 'part of a name of a setting or variable' })
        .option('changed', { type: 'boolean', default: false, describe: 'only what is not at its default' }),
    ({ name, changed }) => {
      context.finish(showConfig(context.resolve().config, name === undefined ? { changed } : { name, changed }));
    },
  );

function showConfig(config: Config, { name, changed }: ConfigRequest): Outcome {
  const matching = explainConfig(config).filter((row) => name === undefined || isNamed(row, name));
  if (name !== undefined && matching.length === 0) throw noSuchSetting(name);
  const rows = matching.filter(({ source }) => !changed || source.layer !== 'default');
  return {
    data: rows,
    status: 0,
    text: (colors) => {
      if (rows.length === 0) return 'every setting has its default';
      const cells = rows.map((row) => [
        row.source.layer === 'default' ? row.name : colors.bold(row.name),
        shortened(JSON.stringify(row.value)),
        describeSource(row.source),
        [row.torchName === row.name ? [] : [row.torchName], row.env].flat().join(', '),
      ]);
      const table = renderTable(['setting', 'value', 'from', 'also known as'], cells, colors);
      const [only] = rows;
      return rows.length === 1 && only !== undefined ? `${table}\n\n${only.doc} It affects ${only.affects}.` : table;
    },
  };
}

const shortened = (text: string): string => (text.length > 48 ? `${text.slice(0, 47)}…` : text);

const isNamed = ({ name, torchName, env }: ExplainedSetting, part: string): boolean =>
  [name, torchName, ...env].some((known) => known.toLowerCase().includes(part.toLowerCase()));
