// Bodies simplified by the rules.
import { BodyBuilder } from '../body/body-builder.ts';
import { replayBody } from '../body/replay-body.ts';
import type { Body } from '../scalar.ts';
import { ruleSet } from './rule.ts';
import type { RuleSet } from './rule.ts';
import { exactRules, fastMathRules } from './scalar-rules.ts';

const exact: RuleSet = ruleSet(exactRules);
const loose: RuleSet = ruleSet([...exactRules, ...fastMathRules]);

/** How far results may change: not by a bit, or as fast-math rules allow. */
type Strictness = 'exact' | 'fastMath';

const rulesFor = (strictness: Strictness): RuleSet => (strictness === 'exact' ? exact : loose);

/** The body in the form that no rule changes. */
export function simplifyBody(body: Body, strictness: Strictness = 'exact'): Body {
  const builder = new BodyBuilder({ rules: rulesFor(strictness) });
  return builder.finish(replayBody(body, builder).results);
}
