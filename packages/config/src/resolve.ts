// Resolution: default < environment < program < scoped patch < options of one compilation, with two kinds of variables
// beside the ordinary ones (below the default's place and above everything). The only file of the project that reads
// `process.env`. Out: a deeply frozen `Config` that remembers where each value came from.
import { nearest } from '@tsinductor/base';
import { computedDefaults } from './computed.ts';
import type { Environment } from './computed.ts';
import { absentVariable, badEnvironmentValue, unknownVariable, unknownWord } from './errors.ts';
import { absentVariables, findAbsentVariable, isForeign } from './known.ts';
import { readPatch } from './patch.ts';
import type { ConfigPatch, Report } from './patch.ts';
import type { Setting, SettingValue } from './setting.ts';
import { settingNames, settingOf, variablesOf } from './settings.ts';
import type { Config, SettingName } from './settings.ts';
import { flagText, parseText } from './value.ts';

/** Where a value came from. `forced` is an environment variable that beats what the program sets. */
type Layer = 'default' | 'environment' | 'program' | 'patch' | 'options' | 'forced';

export interface Provenance {
  readonly layer: Layer;
  /** The environment variable, for the layers that have one. */
  readonly variable?: string;
}

interface ResolveOptions {
  /** Defaults to the process's own environment. */
  readonly env?: Environment;
  /** What the program set for all its compilations. */
  readonly program?: ConfigPatch;
  /** What it set for a scope. */
  readonly patch?: ConfigPatch;
  /** What was passed to one `compile` call. */
  readonly options?: ConfigPatch;
  /** Is given each warning, once per resolution. */
  readonly report?: Report;
}

interface Resolved {
  readonly value: SettingValue;
  readonly source: Provenance;
}

// Provenance rides on the config under a symbol that is not enumerable, so that hashing and printing see settings only.
const provenanceKey: unique symbol = Symbol('provenance');
interface Traced {
  readonly [provenanceKey]?: ReadonlyMap<SettingName, Provenance>;
}

/** The configuration that holds under these layers. */
export function resolveConfig(options: ResolveOptions = {}): Config {
  const env = options.env ?? process.env;
  if (options.report !== undefined) reportVariables(env, options.report);
  const base = new Map(settingNames.map((name) => [name, fromEnvironment(settingOf(name), env, options.report)]));
  const layers = (['program', 'patch', 'options'] as const).map((layer) => ({ layer, patch: options[layer] }));
  for (const { layer, patch } of layers)
    if (patch !== undefined) overlay(base, readPatch(patch, options.report), layer);
  return assemble(base);
}

/** `base` with the settings of `patch` on top; settings that the environment forces stay. */
export function withConfig(base: Config, patch: ConfigPatch, layer: 'program' | 'patch' | 'options' = 'patch'): Config {
  const values = new Map(
    settingNames.map((name) => [name, { value: valueOf(base, name), source: provenanceOf(base, name) }]),
  );
  overlay(values, readPatch(patch), layer);
  return assemble(values);
}

/** Puts a variable into the environment of the process, for a library that reads it itself. */
export function exportVariable(name: string, text: string): void {
  process.env[name] = text;
}

/** The value of a setting by its key in the table. */
export function valueOf(config: Config, name: SettingName): SettingValue {
  const [section, member] = name.split('.') as [string, string | undefined];
  const root = config as unknown as Readonly<Record<string, SettingValue | Readonly<Record<string, SettingValue>>>>;
  const found = root[section];
  return (member === undefined ? found : (found as Readonly<Record<string, SettingValue>>)[member]) as SettingValue;
}

/** Where the value of a setting came from; a config that crossed a worker boundary only knows its values. */
export function provenanceOf(config: Config, name: SettingName): Provenance {
  return (config as Traced)[provenanceKey]?.get(name) ?? { layer: 'program' };
}

function overlay(
  values: Map<SettingName, Resolved>,
  patch: ReadonlyMap<SettingName, SettingValue>,
  layer: Layer,
): void {
  for (const [name, value] of patch) {
    if (values.get(name)?.source.layer !== 'forced') values.set(name, { value, source: { layer } });
  }
}

function fromEnvironment(setting: Setting, env: Environment, report: Report | undefined): Resolved {
  const ranks = [
    { names: setting.forceEnv ?? [], layer: 'forced' },
    { names: [...(setting.env ?? []), ...(setting.aliasEnv ?? [])], layer: 'environment' },
    { names: setting.defaultEnv ?? [], layer: 'environment' },
  ] as const;
  for (const { names, layer } of ranks) {
    const variable = names.find((name) => (env[name] ?? '') !== '');
    if (variable === undefined) continue;
    const value = readVariable(setting, variable, env);
    if (value !== undefined) return { value, source: { layer, variable } };
    report?.(unknownWord(variable, env[variable] ?? '', setting.type === 'table' ? '{}' : String(setting.default)));
  }
  const value = setting.computed === undefined ? setting.default : computedDefaults[setting.computed](env);
  return { value, source: { layer: 'default' } };
}

/** The value that the variable says; undefined for a word that a program may mean for somebody else. */
function readVariable(setting: Setting, variable: string, env: Environment): SettingValue | undefined {
  const text = env[variable] ?? '';
  const checked = parseText(setting, setting.aliasEnv?.includes(variable) === true ? flagText(text) : text);
  if (checked.kind === 'rejected' && setting.envText === 'wordOrDefault') return undefined;
  if (checked.kind === 'rejected') throw badEnvironmentValue(variable, text, checked.allowed);
  return checked.value;
}

/** Beginnings of the names of variables that are a compiler's: one that nobody reads is likely a mistake. */
const ownPrefixes = /^(TORCHINDUCTOR|AOT_INDUCTOR|AIT|EJKERNEL)_/;

/** Tells of variables that are set and change nothing: names that are known, and those that look like ours. */
function reportVariables(env: Environment, report: Report): void {
  const read = settingNames.flatMap((name) => variablesOf(settingOf(name)));
  const given = Object.keys(env).filter((name) => (env[name] ?? '') !== '' && !read.includes(name));
  for (const name of given.sort()) {
    const absent = findAbsentVariable(name);
    if (absent !== undefined) report(absentVariable(name, absent));
    else if (ownPrefixes.test(name) && !isForeign(name) && !absentVariables.includes(name))
      report(unknownVariable(name, nearest(name, [...read, ...absentVariables])));
  }
}

function assemble(values: ReadonlyMap<SettingName, Resolved>): Config {
  const root: Record<string, unknown> = {};
  for (const [name, { value }] of values) {
    const [section, member] = name.split('.') as [string, string | undefined];
    if (member === undefined) root[section] = value;
    else root[section] = { ...(root[section] as object | undefined), [member]: value };
  }
  for (const member of Object.values(root)) Object.freeze(member);
  const sources = new Map([...values].map(([name, { source }]) => [name, source]));
  Object.defineProperty(root, provenanceKey, { value: sources, enumerable: false });
  return Object.freeze(root) as unknown as Config;
}
