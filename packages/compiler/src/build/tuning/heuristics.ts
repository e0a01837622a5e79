// Measurements for those who learn from them, and what a learned rule says in the place of a clock. In: a group with its candidates. Out:
// rows of a file, and the candidate that the rule of the settings takes.
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stableHash } from '@tsinductor/base';
import { product, staticValue } from '@tsinductor/codegen';
import { productKind } from '@tsinductor/codegen-cpp';
import type { ChoicePatch } from '@tsinductor/codegen-cpp';
import { bodiesOf } from '@tsinductor/ir';
import type { Axis, Group } from '@tsinductor/ir';
import { badHeuristic } from '../../errors.ts';
import { messageOf } from '../announcer.ts';
import type { NativeMachine } from '../machine.ts';
import type { Measured } from './group-records.ts';
import type { Tuning } from './tune-groups.ts';

type HeuristicName = 'mm' | 'conv' | 'flex' | 'pointwise';

const names = { product: 'mm', convolution: 'conv', several: 'flex' } as const;

/** What tuning of a group is called in the settings. */
function nameOf(group: Group): HeuristicName {
  const kind = productKind(group);
  return kind === undefined ? 'pointwise' : names[kind];
}

type Features = Readonly<Record<string, number>>;

const pointsOf = (axes: readonly Axis[]): number => staticValue(product(axes.map(({ extent }) => extent))) ?? 0;

/** Numbers that describe a group: the same ones for all groups of a name. The sizes of products are those of its largest. */
function featuresOf({ nodes, reads, writes }: Group): Features {
  const all = { nodes: nodes.length, reads: reads.length, writes: writes.length };
  const products = nodes
    .filter((node) => node.kind === 'contract')
    .map(({ batch, m, n, over, axes }) => ({
      batch: pointsOf(batch),
      m: pointsOf([m]),
      n: pointsOf([n]),
      k: pointsOf(over),
      points: pointsOf(axes),
    }));
  const [largest] = products.toSorted((a, b) => b.points * b.k - a.points * a.k);
  if (largest !== undefined) return { ...all, ...largest };
  const reduced = nodes.map((node) => (node.kind === 'reduce' ? pointsOf(node.over) : 1));
  return {
    ...all,
    points: Math.max(...nodes.map(({ axes }) => pointsOf(axes))),
    reduced: Math.max(...reduced),
    operations: nodes.flatMap(bodiesOf).reduce((sum, body) => sum + body.nodes.length, 0),
  };
}

const deviceOf = ({ isaReport, isa, threads, caches }: NativeMachine): Readonly<Record<string, unknown>> => ({
  cpu: isaReport.cpu,
  isa,
  threads,
  caches,
});

/**
 * Appends what was measured to the file of its name. That begins with a line of JSON on the device, and one of the columns; another device
 * has another file.
 */
export function collect(group: Group, measured: readonly Measured[], { config, machine, builder }: Tuning): void {
  const name = nameOf(group);
  if (!config.autoheuristicCollect.includes(name)) return;
  const { autoheuristicLogPath: path, cacheDir } = config;
  const directory = path === 'DEFAULT' ? join(cacheDir, 'autoheuristic') : path;
  const features = featuresOf(group);
  const columns = [...Object.keys(features), 'choice', 'milliseconds'].join(',');
  const head = `${JSON.stringify({ name, device: deviceOf(machine) })}\n${columns}\n`;
  const rows = measured.flatMap((one) => {
    if ('failure' in one) return [];
    const choice = JSON.stringify(one.patch).replaceAll('"', '""');
    return [`${Object.values(features).join(',')},"${choice}",${String(one.milliseconds)}\n`];
  });
  try {
    mkdirSync(directory, { recursive: true });
    const file = join(directory, `${name}-${stableHash(head).slice(0, 16)}.csv`);
    writeHead(file, head);
    appendFileSync(file, rows.join(''));
  } catch (error) {
    builder.announcer.warnOnce('AUTOHEURISTIC_LOG', `measurements are not collected: ${messageOf(error)}`);
  }
}

function writeHead(file: string, head: string): void {
  try {
    writeFileSync(file, head, { flag: 'wx' });
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'EEXIST') throw error;
  }
}

/** What the setting autoheuristicRule is given, and gives. */
type Rule = (problem: {
  readonly name: HeuristicName;
  readonly features: Features;
  readonly choices: readonly ChoicePatch[];
}) => unknown;

/** The candidate that the rule of the settings takes; undefined where it is not asked, or not sure. */
export function ruled(group: Group, choices: readonly ChoicePatch[], { config }: Tuning): ChoicePatch | undefined {
  const { autoheuristicUse, autoheuristicRule } = config;
  const name = nameOf(group);
  if (autoheuristicRule === null || !autoheuristicUse.includes(name)) return undefined;
  const place = (autoheuristicRule.run as Rule)({ name, features: featuresOf(group), choices });
  if (place === null || place === undefined) return undefined;
  const taken = typeof place === 'number' ? choices[place] : undefined;
  if (taken === undefined) throw badHeuristic(place, choices.length);
  return taken;
}
