// The steps of the scheduler, in order: from the loop program that lowering made to groups that run as one kernel each, with a
// place for every buffer. Each step is a pure function, in a file of its own; a decision says which step took it.
import { Pipeline } from '@tsinductor/base';
import type { Stage } from '@tsinductor/base';
import type { Config } from '@tsinductor/config';
import { decideBounds, withoutCopies, withoutUnreadZeros } from '@tsinductor/ir';
import type { Decision, LoopProgram, Schedule } from '@tsinductor/ir';
import { branchChains } from './branched-chains.ts';
import { processorLimits } from './chained-product.ts';
import type { ChainLimits } from './chained-product.ts';
import type { Choices } from './choices.ts';
import { combineClusters } from './combine.ts';
import { passedGroups, passedNodes } from './custom-passes.ts';
import { resolveEmptyNodes, withoutUnread } from './empty-nodes.ts';
import { factsOf, redeclared } from './facts.ts';
import { combinationsForm, groupsForm, nodesForm, scheduleForm } from './forms.ts';
import type { Combinations, Groups, Nodes } from './forms.ts';
import { fuseNodes } from './fuse.ts';
import { FusionTrial } from './fusion-trial.ts';
import type { Measure } from './fusion-trial.ts';
import { groupNaming } from './group-names.ts';
import { inlineProducers } from './inline.ts';
import { makeGroup } from './make-group.ts';
import { planMemory } from './memory-plan.ts';
import { normalizeAxes, separateAxes } from './normalize-axes.ts';
import { orderCombinations } from './order-groups.ts';
import { padInPlace } from './pad-in-place.ts';
import { padStrides } from './pad-strides.ts';
import { chainProducts } from './product-chains.ts';
import { orderForPeak } from './peak-order.ts';
import { fusePrologues } from './prologue.ts';
import { countGroups } from './statistics.ts';
import { withoutWaits } from './waits.ts';

/** What steps go by. */
export interface Scheduling {
  readonly config: Config;
  readonly choices: Choices;
  readonly measure: Measure | undefined;
  /** Which two products and the loops over rows between them the target has one kernel for. */
  readonly chains: Chains;
  /** Whether who runs the program lays results over the inputs that they replace, where the plan of memory says so. */
  readonly updates: boolean;
}

/** What chains of products a target has one kernel for: none, those of a processor as its settings say, or what its limits allow. */
export type Chains = boolean | ChainLimits;

type Step<In, Out> = Stage<In, Out, Scheduling>;

/** Those decisions that no step before took are of this one. */
const decidedBy = (stage: string, decisions: readonly Decision[]): readonly Decision[] =>
  decisions.map((decision) => (decision.stage === undefined ? { ...decision, stage } : decision));

const resolveEmpty: Step<LoopProgram, Nodes> = {
  name: 'resolve-empty-loops',
  doc: 'loops over nothing, and nodes that nobody reads',
  makes: nodesForm,
  run: (program, { config }) => ({
    program,
    nodes: resolveEmptyNodes(program, { dropUnread: config.dce }),
    decisions: decidedBy('partition', program.decisions ?? []),
  }),
};

const separate: Step<Nodes, Nodes> = {
  name: 'separate-axes',
  doc: 'an axis that is only used by quotient and remainder is two axes',
  makes: nodesForm,
  run: (given) => ({ ...given, nodes: given.nodes.map(separateAxes) }),
};

const inline: Step<Nodes, Nodes> = {
  name: 'inline',
  doc: 'values are computed where they are read, where that is cheaper than to store them',
  makes: nodesForm,
  run({ program, nodes, decisions }, { config, choices }) {
    const options = { choices, keepRounding: config.emulatePrecisionCasts };
    const inlined = inlineProducers(nodes, factsOf(program, nodes), options);
    return { program, nodes: inlined.nodes, decisions: [...decisions, ...decidedBy('inline', inlined.decisions)] };
  },
};

const decide: Step<Nodes, Nodes> = {
  name: 'decide-bounds',
  doc: 'what bounds of integers make superfluous, and nodes that nobody reads then',
  makes: nodesForm,
  run(given, { config }) {
    const { program, nodes } = given;
    if (!config.constantAndIndexPropagation) return given;
    const simpler = nodes.map((node) => decideBounds(node, config.computeAllBounds ? 'values' : 'indices'));
    if (simpler.every((node, position) => node === nodes[position])) return given;
    return { ...given, nodes: withoutUnread(simpler, program) };
  },
};

const dropZeros: Step<Nodes, Nodes> = {
  name: 'drop-unread-zeros',
  doc: 'zeros of padding that are never read',
  makes: nodesForm,
  run: (given) => ({ ...given, nodes: given.nodes.map(withoutUnreadZeros) }),
};

const prologues: Step<Nodes, Nodes> = {
  name: 'fuse-prologues',
  doc: 'operands of products are computed by the product that reads them',
  makes: nodesForm,
  run(given, { config }) {
    if (!config.prologueFusion) return given;
    const { nodes, decisions } = fusePrologues(given, factsOf(given.program, given.nodes));
    return { ...given, nodes, decisions: decidedBy('fuse-prologues', decisions) };
  },
};

const normalize: Step<Nodes, Nodes> = {
  name: 'normalize-axes',
  doc: 'axes that are walked as one are one',
  makes: nodesForm,
  run: (given) => ({ ...given, nodes: given.nodes.map(normalizeAxes) }),
};

const customNodes: Step<Nodes, Nodes> = {
  name: 'custom-nodes',
  doc: 'the pass of the setting preFusionCustomPass',
  makes: nodesForm,
  run: (given, { config }) => ({ ...given, nodes: passedNodes(given.nodes, given.program, config) }),
};

const fuse: Step<Nodes, Combinations> = {
  name: 'fuse',
  doc: 'nodes that can share outer loops do, in clusters',
  makes: combinationsForm,
  run({ program, nodes, decisions }, { config, choices, measure }) {
    const facts = factsOf(program, nodes);
    const trial = measure === undefined ? undefined : new FusionTrial(facts, config, measure);
    const options = { config, choices, trial };
    const fused = fuseNodes(nodes, facts, options);
    const alone = fused.clusters.map((cluster) => [cluster]);
    const combinations = orderCombinations(alone, facts);
    return {
      ...{ facts, combinations, trial, pairs: fused.pairs },
      decisions: [...decisions, ...decidedBy('fuse', fused.decisions)],
    };
  },
};

const chain: Step<Combinations, Combinations> = {
  name: 'chain-products',
  doc: 'products and the loops over rows between them share the loops over rows',
  makes: combinationsForm,
  run(given, { config, chains }) {
    if (chains === false) return given;
    const { facts } = given;
    const { attentionFusion, attentionFusionBytes } = config.cpp;
    const ofProcessors = chains === true;
    const asked = ofProcessors
      ? { throughRows: attentionFusion, leastBytes: attentionFusionBytes, limits: processorLimits }
      : { throughRows: true, leastBytes: 0, limits: chains };
    const chaining = {
      ...asked,
      throughElements: ofProcessors && config.b2bGemmPass,
      maySplit: config.loopIndexInversionInFusion,
      mayReorder: config.loopOrderingAfterFusion,
    };
    const clusters = given.combinations.flat();
    const branched = ofProcessors ? branchChains(clusters, facts, chaining) : { clusters, decisions: [] };
    const chained = chainProducts(branched.clusters, facts, chaining);
    const decided = [...branched.decisions, ...chained.decisions];
    if (decided.length === 0) return given;
    const alone = chained.clusters.map((cluster) => [cluster]);
    const decisions = [...given.decisions, ...decidedBy('chain-products', decided)];
    return { ...given, combinations: orderCombinations(alone, facts), decisions };
  },
};

const combine: Step<Combinations, Combinations> = {
  name: 'combine',
  doc: 'clusters that do not depend on each other share a kernel',
  makes: combinationsForm,
  run(given, { config, choices }) {
    const { facts, trial, decisions } = given;
    const options = { choices, trial: config.benchmarkComboKernel ? trial : undefined };
    const combined = combineClusters(given.combinations.flat(), facts, options);
    const combinations = orderCombinations(combined.combinations, facts);
    return { ...given, combinations, decisions: [...decisions, ...decidedBy('combine', combined.decisions)] };
  },
};

const pad: Step<Combinations, Combinations> = {
  name: 'pad-strides',
  doc: 'rows of temporaries begin at lines of the cache',
  makes: combinationsForm,
  run(given, { config }) {
    const { program, combinations, decisions } = padStrides(given.combinations, { facts: given.facts, config });
    const facts = redeclared(given.facts, program);
    return { ...given, facts, combinations, decisions: [...given.decisions, ...decidedBy('pad-strides', decisions)] };
  },
};

const padCopies: Step<Combinations, Combinations> = {
  name: 'pad-in-place',
  doc: 'what is padded is made within the padding, and not copied into it',
  makes: combinationsForm,
  run(given, { config }) {
    const { program } = given.facts;
    const padding = { facts: given.facts, config };
    const padded = padInPlace({ program, combinations: given.combinations, decisions: [] }, padding);
    const decisions = [...given.decisions, ...decidedBy('pad-in-place', padded.decisions)];
    return { ...given, facts: redeclared(given.facts, padded.program), combinations: padded.combinations, decisions };
  },
};

const makeGroups: Step<Combinations, Groups> = {
  name: 'make-groups',
  doc: 'each kernel has its nest of loops and a name',
  makes: groupsForm,
  run({ facts, combinations, decisions, pairs }, { config }) {
    const nameOf = groupNaming(config, facts);
    const making = { facts, nameOf, pickOrder: config.pickLoopOrders };
    const groups = combinations.map((clusters, id) => makeGroup(clusters, { ...making, id }));
    return { facts, groups, before: groups, decisions, pairs };
  },
};

const orderGroups: Step<Groups, Groups> = {
  name: 'order-for-peak',
  doc: 'of the orders that data allows, one in which less memory lives at a time',
  makes: groupsForm,
  run(given, { config }) {
    if (!config.reorderForPeakMemory) return given;
    const options = { successorThreshold: config.sizeThresholdForSuccBasedStrategy };
    return { ...given, groups: orderForPeak(given.groups, given.facts.program, options) };
  },
};

const customOrder: Step<Groups, Groups> = {
  name: 'custom-order',
  doc: 'the pass of the setting postFusionCustomPass',
  makes: groupsForm,
  run: (given, { config }) => ({ ...given, groups: passedGroups(given.groups, config) }),
};

const plan: Step<Groups, Schedule> = {
  name: 'plan-memory',
  doc: 'every buffer has a place, and what groups move is counted',
  makes: scheduleForm,
  run({ facts, groups, before, decisions, pairs }, { config, updates }) {
    const { program } = facts;
    const memory = planMemory(program, groups, { config, before, updates });
    const { buffers, workspaceBytes } = memory;
    const counted = groups.map((group) => withoutCopies(group, { buffers }));
    const ordered = groups.map(withoutWaits);
    const statistics = { groups: countGroups(counted, facts), memory: memory.statistics, pairs };
    const all = [...decisions, ...decidedBy('plan-memory', memory.decisions)];
    return { program, groups: ordered, buffers, workspaceBytes, decisions: all, statistics };
  },
};

/** Down to the nodes that are left when values stand where they are read. */
const inlining: Pipeline<LoopProgram, Nodes, Scheduling> = Pipeline.of(resolveEmpty)
  .then(separate)
  .then(inline)
  .then(decide)
  .then(dropZeros);

const steps: Pipeline<LoopProgram, Schedule, Scheduling> = inlining
  .then(prologues)
  .then(normalize)
  .then(customNodes)
  .then(fuse)
  .then(chain)
  .then(combine)
  .then(pad)
  .then(padCopies)
  .then(makeGroups)
  .then(orderGroups)
  .then(customOrder)
  .then(plan);

/** Functions, as all that this package exports is loaded when it is called. */
export const scheduleSteps = (): typeof steps => steps;
export const inlineSteps = (): typeof inlining => inlining;
