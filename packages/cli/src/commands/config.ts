// `tsinductor config [name]`: every setting, its value, and where that came from; and every other name that is known: aliases of
// settings, names that change nothing, and names that wait for a part of the product.
import { describeSource, explainConfig, explainNames } from '@tsinductor/config';
import type { Config, ExplainedName, ExplainedSetting } from '@tsinductor/config';
import type { AddCommand } from '../context.ts';
import { noSuchSetting } from '../errors.ts';
import { renderTable } from '../table.ts';
import type { Colors, Outcome } from '../terminal.ts';

interface ConfigRequest {
  /** Only what has this in one of its names. */
  readonly name?: string;
  /** Only settings that are not at their default. */
  readonly changed: boolean;
}

export const addConfigCommand: AddCommand = (parser, context) =>
  parser.command(
    'config [name]',
    'settings, their values, and where these came from; and other names that are known',
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
  const settings = matching.filter(({ source }) => !changed || source.layer !== 'default');
  const others = changed ? [] : explainNames().filter((row) => name === undefined || isNamed(row, name));
  if (name !== undefined && matching.length === 0 && others.length === 0) throw noSuchSetting(name);
  const of = (...kinds: readonly ExplainedName['kind'][]): readonly ExplainedName[] =>
    others.filter(({ kind }) => kinds.includes(kind));
  return {
    data: {
      settings,
      aliases: of('alias'),
      warnings: of('ignored'),
      instead: of('one way', 'otherwise'),
      waiting: of('waiting'),
    },
    status: 0,
    text: (colors) =>
      [
        settingsText(settings, { colors, changed }),
        namesText('also known as', of('alias'), colors),
        namesText('no setting here', of('one way', 'otherwise'), colors),
        namesText('not built yet', of('waiting'), colors),
        namesText('known, and without effect', of('ignored'), colors),
      ]
        .filter((text) => text !== '')
        .join('\n\n'),
  };
}

function settingsText(
  rows: readonly ExplainedSetting[],
  { colors, changed }: { readonly colors: Colors; readonly changed: boolean },
): string {
  if (rows.length === 0) return changed ? 'every setting has its default' : '';
  const cells = rows.map((row) => [
    row.source.layer === 'default' ? row.name : colors.bold(row.name),
    shortened(JSON.stringify(row.value)),
    describeSource(row.source),
    [row.torchName === row.name ? [] : [row.torchName], row.env].flat().join(', '),
  ]);
  const table = renderTable(['setting', 'value', 'from', 'also known as'], cells, colors);
  const [only] = rows;
  return rows.length === 1 && only !== undefined ? `${table}\n\n${only.doc} It affects ${only.affects}.` : table;
}

function namesText(title: string, rows: readonly ExplainedName[], colors: Colors): string {
  if (rows.length === 0) return '';
  const cells = rows.map(({ name, env, says }) => [name, env.filter((own) => own !== name).join(', '), says]);
  return renderTable([title, 'variable', 'what it says'], cells, colors);
}

const shortened = (text: string): string => (text.length > 48 ? `${text.slice(0, 47)}…` : text);

const isNamed = (
  { name, torchName, env }: Pick<ExplainedSetting, 'env'> & { readonly name: string; readonly torchName?: string },
  part: string,
): boolean => [name, torchName ?? name, ...env].some((known) => known.toLowerCase().includes(part.toLowerCase()));
