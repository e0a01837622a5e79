// A program through every stage, as files: graph, loops, schedule, memory traffic, C++ and CUDA. In: a case. Out: text by file name.
import { bindSchedule, generateBlock, generateCpp } from '@tsinductor/codegen-cpp';
import type { CpuTarget } from '@tsinductor/codegen-cpp';
import { generateCuda, generateCudaBlocks } from '@tsinductor/codegen-cuda';
import { printBlockProgram, printProgram, printSchedule } from '@tsinductor/ir';
import type { BlockProgram } from '@tsinductor/ir';
import { stagesOf } from './golden-case.ts';
import type { StoryCase } from './story-cases.ts';
import { trafficOf } from './traffic.ts';

/** Text by the name of its file. */
export type Story = ReadonlyMap<string, string>;

const architecture = 'sm_80';

export function storyOf(one: StoryCase): Story {
  const { graph, scheduled } = stagesOf(one);
  const { target } = one;
  return new Map([
    ['graph.txt', withoutPlaces(graph)],
    ['loops.txt', withoutPlaces(printProgram(scheduled.program))],
    ['schedule.txt', withoutPlaces(printSchedule(scheduled))],
    ['traffic.txt', trafficOf(bindSchedule(scheduled, target)).toString()],
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
    ['traffic.txt', trafficOf([kernel]).toString()],
    [cppFile(target), units.map(({ source }) => source).join('\n')],
    [`${architecture}.cu`, cuda.source],
  ]);
}

const nameOf = ({ isa, family, threads }: CpuTarget): string =>
  [isa, family, String(threads)].filter((part) => part !== undefined).join('-');

const cppFile = (target: CpuTarget): string => `${nameOf(target)}.cpp`;

/** Without the lines of the files in which operations stand: those move. */
const withoutPlaces = (text: string): string => text.replaceAll(/# \S+:\d+ ?/g, '# ').replaceAll(/ *# *$/gm, '');
