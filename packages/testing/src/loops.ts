// For tests of code generators, under the subpath `loops`: loop programs with a schedule made by hand, what the loop interpreter
// makes of them, every op as a program, and a runner for compiled entries.
export * as cases from './loops/cases.ts';
export type { Case } from './loops/cases.ts';
export { runnable, runsHere } from './loops/host-isa.ts';
export { interpretKernel } from './kernels/interpret-launch.ts';
export type { KernelMemory } from './kernels/kernel-run.ts';
export { blankMemory, memoryFrom, memoryOf, programMemory, programOutputs, readMemory } from './loops/kernel-memory.ts';
export { compileNative, hasCompiler } from './loops/native-runner.ts';
export type { Compiled } from './loops/native-runner.ts';
export { allCases, wrongElement } from './loops/op-cases.ts';
export { differences, expected, inputsOf } from './loops/outcomes.ts';
export { entryBuffers, makeElements } from './loops/programs.ts';
export type { ElementArray } from './loops/programs.ts';
