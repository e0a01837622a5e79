// The public API of @tsinductor/config: re-exports only.
export { codeDirectoryIn } from './computed.ts';
export type { Environment } from './computed.ts';
export type { ConfigWarning } from './errors.ts';
export { describeSource, explainConfig, explainNames } from './explain.ts';
export type { ExplainedName, ExplainedSetting } from './explain.ts';
export { fingerprint } from './fingerprint.ts';
export { absentNames, isForeign } from './known.ts';
export { foreignVariables } from './known/foreign.ts';
export { isLogged, logTopics } from './log-topics.ts';
export type { LogTopic } from './log-topics.ts';
export { readPatch } from './patch.ts';
export type { ConfigPatch, Report } from './patch.ts';
export { exportVariable, provenanceOf, resolveConfig, valueOf, withConfig } from './resolve.ts';
export type { Hook, Setting, SettingValue } from './setting.ts';
export { settingNames, settings, torchNameOf, variablesOf } from './settings.ts';
export type { Config, SettingName } from './settings.ts';
export type { TrafficRuleName } from './settings/cpp.ts';
