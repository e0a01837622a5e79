// Writes docs/settings.md from the tables of @tsinductor/config: the settings, and what becomes of every other name that is known.
// `--check` writes nothing, and fails where the file is not up to date.
//
// npm run docs:settings [-- --check]
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import {
  absentNames,
  explainNames,
  foreignVariables,
  logTopics,
  settingNames,
  settings,
  torchNameOf,
  variablesOf,
} from '@tsinductor/config';

const file = fileURLToPath(new URL('../docs/settings.md', import.meta.url));

const code = (text) => `\`${text}\``;
const codes = (names) => names.map(code).join(', ');
const escape = (text) => text.replaceAll('|', '\\|').replaceAll('<', '&lt;');
const row = (cells) => `| ${cells.join(' | ')} |`;

const settingRow = (name) => {
  const setting = settings[name];
  const torch = torchNameOf(name);
  const names = [...(torch === name ? [] : [torch]), ...variablesOf(setting)];
  const value = code(JSON.stringify(setting.default).replaceAll('|', '\\|'));
  return row([code(name), codes(names), value, setting.affects, escape(setting.doc)]);
};

/** Variables beside a name, where they are not the name itself. */
const beside = ({ name, env = [] }) => codes(env.filter((variable) => variable !== name));

const excused = (kind) =>
  absentNames
    .filter((absent) => absent.kind === kind)
    .map((absent) => row([code(absent.name), beside(absent), absent.says]));

const head = ['| Name | Variable | Why |', '|---|---|---|'];
const waiting = absentNames.filter(({ kind }) => kind === 'waiting');
const parts = [...new Set(waiting.map(({ part }) => part))].sort((a, b) => a.localeCompare(b));
const waitingRow = (part) =>
  row([
    part,
    waiting
      .filter((absent) => absent.part === part)
      .map((absent) => [code(absent.name), ...(beside(absent) === '' ? [] : [`(${beside(absent)})`])].join(' '))
      .join(', '),
  ]);

const lines = [
  '# Settings',
  '',
  'Written by `npm run docs:settings` from the tables in `packages/config/src`. `tsinductor config` prints settings with their values and',
  'where those come from. Most are called as in TorchInductor, in camel case; torch’s own spelling is understood as well. What a row says',
  'is what it does here, also where that, or its default, differs from the original.',
  '',
  'Names of the systems that we follow (TorchInductor, AITemplate, EasyDeL, eformer, ejkernel) are never accepted and ignored:',
  '`tests/settings/knobs.test.ts` holds all of them against the tables below. A name without a setting is an error in `setConfig` and in',
  '`options` (`SETTING_ABSENT`, `SETTING_NOT_BUILT`), and a warning as a variable.',
  '',
  '## What there is',
  '',
  '| Setting | Also known as | Default | Affects | What it does |',
  '|---|---|---|---|---|',
  ...settingNames.map(settingRow),
  '',
  '## Topics of TORCH_LOGS',
  '',
  '| Topic | What it says |',
  '|---|---|',
  ...Object.entries(logTopics).map(([topic, says]) => row([code(topic), says])),
  '',
  '## Other names of settings',
  '',
  '| Name | What it does |',
  '|---|---|',
  ...explainNames()
    .filter(({ kind }) => kind === 'alias')
    .map(({ name, says }) =>
      row([code(name), says.replace(/sets (.*)/, 'Sets `$1`, where no other variable of it is set.')]),
    ),
  '',
  '## No second way to choose',
  '',
  ...head,
  ...excused('one way'),
  '',
  '## What there is instead',
  '',
  ...head,
  ...excused('otherwise'),
  '',
  '## Not built yet',
  '',
  'By the part of the product that they wait for.',
  '',
  '| Part | Names |',
  '|---|---|',
  ...parts.map(waitingRow),
  '',
  '## Known, and without effect',
  '',
  'Setting one is answered by one warning.',
  '',
  ...head,
  ...excused('ignored'),
  '',
  '## Never read',
  '',
  'Variables of those systems that are not the business of this one; no flag in their texts is read either.',
  '',
  codes(foreignVariables),
];
const text = await format(`${lines.join('\n')}\n`, { ...(await resolveConfig(file)), parser: 'markdown' });
if (process.argv.includes('--check')) {
  const isCurrent = readFileSync(file, 'utf8') === text;
  console.log(
    isCurrent ? 'docs/settings.md is up to date' : 'docs/settings.md is not up to date: run npm run docs:settings',
  );
  process.exitCode = isCurrent ? 0 : 1;
} else writeFileSync(file, text);
