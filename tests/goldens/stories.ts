// A program through every stage, as files: graph, loops, schedule, memory traffic, C++ and CUDA. In: a case. Out: text by file name.
import { Lines } from '@tsinductor/base';
import { bindSchedule, generateBlock, generateCpp } from '@tsinductor/codegen-cpp';
import type { CpuTarget } from '@tsinductor/codegen-cpp';
import { generateCuda, generateCudaBlocks } from '@tsinductor/codegen-cuda';
import { printGraph } from '@tsinductor/graph';
import { printBlockProgram, printIndex, printProgram, printSchedule, visitStatements } from '@tsinductor/ir';
import type { BlockProgram, Kernel, Stmt } from '@tsinductor/ir';
import { stagesOf } from './golden-case.ts';
import type { StoryCase } from './story-cases.ts';

/** Text by the name of its file. */
export type Story = ReadonlyMap<string, string>;

const architecture = 'sm_80';

export function storyOf(one: StoryCase): Story {
  const { graph, scheduled } = stagesOf(one);
  const { target } = one;
  return new Map([
    ['graph.txt', withoutPlaces(printGraph(graph))],
    ['loops.txt', withoutPlaces(printProgram(scheduled.program))],
    ['schedule.txt', withoutPlaces(printSchedule(scheduled))],
    ['traffic.txt', trafficOf(bindSchedule(scheduled, target), target)],
    [cppFile(target), generateCpp(scheduled, target).units.map(({ source }) => source).join('\n')], // prettier-ignore
    [`${architecture}.cu`, generateCuda(scheduled, { architecture, inputAlignment: 16 }).source],
  ]);
}

/** The same of a kernel that is written by hand. */
export function blockStory(program: BlockProgram, target: CpuTarget): Story {
  const { units, kernel } = generateBlock(program, { ...target, mayAlias: false });
  const cuda = generateCudaBlocks([program], { architecture, warps: 4, stages: 3, mayAlias: false });
  return new Map([
    ['block.txt', withoutPlaces(printBlockProgram(program))],
    ['traffic.txt', trafficOf([kernel], target)],
    [cppFile(target), units.map(({ source }) => source).join('\n')],
    [`${architecture}.cu`, cuda.source],
  ]);
}

const nameOf = ({ isa, family, threads }: CpuTarget): string =>
  [isa, family, String(threads)].filter((part) => part !== undefined).join('-');

const cppFile = (target: CpuTarget): string => `${nameOf(target)}.cpp`;

/** Without the lines of the files in which operations stand: those move. */
const withoutPlaces = (text: string): string => text.replaceAll(/# \S+:\d+ ?/g, '# ').replaceAll(/ *# *$/gm, '');

/** What kernels say of themselves, and what they prefetch and write past the caches, each once. */
function trafficOf(kernels: readonly Kernel[], target: CpuTarget): string {
  const lines = new Lines();
  lines.line(`for ${nameOf(target)}`);
  for (const { name, notes, body } of kernels) {
    lines.block(
      name,
      () => {
        for (const line of new Set([...notes, ...movesIn(body)])) lines.line(line);
      },
      '',
    );
  }
  return lines.toString();
}

function movesIn(body: readonly Stmt[]): readonly string[] {
  const moves: string[] = [];
  visitStatements(body, (statement) => {
    if (statement.kind === 'prefetch') {
      const { buffer, at, intent, into = 'first' } = statement;
      moves.push(`prefetch ${buffer}[${printIndex(at)}] to ${intent}, into the ${into} cache`);
    } else if (statement.kind === 'store' && statement.hint === 'stream')
      moves.push(`non-temporal store to ${statement.access.buffer}[${printIndex(statement.access.at)}]`);
    else if (statement.kind === 'transpose' && statement.hint === 'stream')
      moves.push(`non-temporal stores to ${statement.to.buffer}[${printIndex(statement.to.at)}]`);
  });
  return moves;
}
