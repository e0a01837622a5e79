// Attention as one kernel: a group as a Block IR program, bound as hand-written kernels are. In: a group. Out: its kernel, whose choice is
// a record with a reason; or why it is left to the strategies that compute products and what is between them one after the other.
import { at, UserError } from '@tsinductor/base';
import { typicalValue } from '@tsinductor/codegen';
import { ceilDivide, int, product, warpThreads } from '@tsinductor/ir';
import type { Kernel } from '@tsinductor/ir';
import { manyTiles } from '../../target.ts';
import { programKernel } from '../matrix/program-kernel.ts';
import type { ProgramContext, WrittenProgram } from '../matrix/program-kernel.ts';
import { attentionOf } from './attention.ts';
import type { Attention } from './attention.ts';
import { attentionProgram } from './attention-program.ts';
import type { AttentionTile } from './attention-program.ts';

/** How attention is computed, and why so. */
interface AttentionChoice extends AttentionTile {
  readonly reason: string;
}

const large: AttentionTile = { rows: 128, columns: 64, warps: 8, stages: 2 };
const middle: AttentionTile = { rows: 64, columns: 64, warps: 4, stages: 2 };
const short: AttentionTile = { rows: 64, columns: 32, warps: 4, stages: 2 };
const small: AttentionTile = { rows: 32, columns: 32, warps: 4, stages: 2 };
const least: AttentionTile = { rows: 16, columns: 16, warps: 4, stages: 2 };

/** Of heads wider than this a row is shared by more warps, whose threads would not have registers for it. */
const wideHead = 64;

/** Elements of a tile of values that a thread holds at most, where the values of keys that nobody sees are looked at. */
const mostHeld = 32;

/** The choices, the best first: each takes less shared memory than the one before. */
function choicesFor({ rows, batch, scores, values }: Attention): readonly AttentionChoice[] {
  const width = Math.max(...[at(scores.over, 0), values.n].map(({ extent }) => typicalValue(extent)));
  const height = typicalValue(rows.extent);
  const points = batch.reduce((count, { extent }) => count * typicalValue(extent), 1);
  const many = Math.ceil(height / large.rows) * points;
  const fits = 'larger ones would not fit into registers and shared memory';
  const tall = [
    ...(many < manyTiles ? [] : [{ ...large, reason: `there are about ${String(many)} of them, which fill a device` }]),
    { ...middle, reason: many < manyTiles ? 'larger ones would leave parts of a device idle' : fits },
    { ...short, reason: fits },
  ];
  const choices = [
    ...(height <= small.rows ? [] : tall),
    { ...small, reason: height <= small.rows ? 'there are few rows' : fits },
    { ...least, reason: fits },
  ];
  const shared = width > wideHead ? choices.map((choice) => ({ ...choice, warps: large.warps })) : choices;
  return shared.filter(({ columns, warps }) => columns * width <= mostHeld * warps * warpThreads);
}

/** The kernel of a group; or why it is not computed as one: undefined where it is no attention at all. */
export function bindAttention(context: ProgramContext): Kernel | string | undefined {
  const { group, facts } = context;
  const attention = attentionOf({
    nodes: group.nodes,
    outer: group.nest.loops.map(({ axis }) => axis),
    decl: facts.decl,
    isStored: (buffer) => !facts.isVirtual(buffer),
  });
  if (attention === undefined || typeof attention === 'string') return attention;
  for (const choice of choicesFor(attention)) {
    const written = attentionProgram(attention, choice, facts);
    const kernel = boundWithin(written, { attention, choice }, context);
    if (kernel !== undefined) return kernel;
  }
  return 'its tiles take more shared memory than there is';
}

interface Chosen {
  readonly attention: Attention;
  readonly choice: AttentionChoice;
}

/** The kernel, where its tiles fit into shared memory. */
function boundWithin(
  written: WrittenProgram,
  { attention: { rows: axis, batch, bounds }, choice }: Chosen,
  context: ProgramContext,
): Kernel | undefined {
  const { rows, columns, warps, stages, reason } = choice;
  const instances = product(batch.map(({ extent }) => extent));
  const grid = [ceilDivide(axis.extent, int(rows)), int(1), instances] as const;
  const left = bounds === undefined ? '' : '; keys that a mask leaves out are not multiplied';
  const note = `attention, tiles of ${String(rows)} rows by ${String(columns)} keys: ${reason}${left}`;
  try {
    return programKernel(written, { grid, warps, stages, note }, context);
  } catch (error) {
    if (error instanceof UserError && error.code === 'KERNEL_NOT_COMPILED') return undefined;
    throw error;
  }
}
