// The public API of @tsinductor/config: re-exports only.
export { codeDirectoryIn } from './computed.ts';
export type { Environment } from './computed.ts';
export type { ConfigWarning } from './errors.ts';
export { describeSource, explainConfig } from './explain.ts';
export type { ExplainedSetting } from './explain.ts';
export { fingerprint } from './fingerprint.ts';
export { readPatch } from './patch.ts';
export type { ConfigPatch } from './patch.ts';
export { provenanceOf, resolveConfig, valueOf, withConfig } from './resolve.ts';
export type { Hook, Setting, SettingValue } from './setting.ts';
export { settingNames, settings, torchNameOf, variablesOf } from './settings.ts';
export type { Config, SettingName } from './settings.ts';
export type { TrafficRuleName } from './settings/cpp.ts';
