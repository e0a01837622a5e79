// The names of the rules of memory traffic of generated C++, by which a setting leaves them out. What each of them does is said where
// it is, in codegen-cpp/src/strategy/traffic: a rule of another name does not compile, and a name without a rule fails a test there.

export const trafficRuleNames = [
  'next row',
  'rows below',
  'lines further on',
  'long rows',
  'rows further on',
  'windows',
  'row runs',
  'adjacent rows',
  'column rows in order',
  'tiles',
  'narrow loads',
  'row streams',
  'prefetched results',
  'non-temporal results',
  'scattered rows',
  'scatter targets',
] as const;

export type TrafficRuleName = (typeof trafficRuleNames)[number];
