// A program as a TypeScript file that anyone can run: `tsinductor run FILE`. It says what eager mode and the compiled
// function give, and ends with status 1 where they differ.
import { at, get } from '@tsinductor/base';
import { operators } from '@tsinductor/graph';
import type { Operator } from '@tsinductor/graph';
import type { Argument, FuzzProgram, InputSpec, Step } from './program.ts';
import { isValueRef } from './program.ts';

export interface PrintOptions {
  readonly reason: string;
  /** Settings of the compiler that it failed with. */
  readonly settings: Readonly<Record<string, unknown>>;
}

export function printProgram(program: FuzzProgram, { reason, settings }: PrintOptions): string {
  const names = nameValues(program);
  const body = printSteps(program, names);
  const imports = ['compile', 'fromBuffer', 'manualSeed', 'setConfig', ...functionsUsed(program)];
  const parameters = program.inputs.map((_, id) => names[id] ?? '').join(', ');
  return [
    `// ${program.label}: compiled and eager results differ.`,
    ...reason.split('\n').map((line) => `//   ${line}`),
    `import { ${[...new Set(imports)].sort().join(', ')} } from 'tsinductor';`,
    `import type { Tensor } from 'tsinductor';`,
    ...(program.steps.some(needsDispatch) ? [`import { dispatch } from '@tsinductor/tensor/internal';`] : []),
    '',
    `setConfig(${JSON.stringify(settings)});`,
    `const bytes = (base64: string): ArrayBuffer => new Uint8Array(Buffer.from(base64, 'base64')).buffer;`,
    `const inputs = (): Tensor[] => [`,
    ...program.inputs.map((input) => `  ${printInput(input)},`),
    `];`,
    `const fn = (${parameters}: Tensor): Tensor[] => {`.replace(
      /\((.*): Tensor\)/,
      (_, list: string) =>
        `(${list
          .split(', ')
          .map((name) => `${name}: Tensor`)
          .join(', ')})`,
    ),
    ...body,
    `  return [${program.outputs.map((id) => names[id] ?? '').join(', ')}];`,
    `};`,
    '',
    `manualSeed(${String(program.seed)});`,
    `const eager = (fn as (...inputs: Tensor[]) => Tensor[])(...inputs());`,
    `manualSeed(${String(program.seed)});`,
    `const compiled = (compile(fn, { dynamic: ${String(program.dynamic)} }) as (...inputs: Tensor[]) => Tensor[])(...inputs());`,
    `eager.forEach((expected, output) => {`,
    `  const actual = compiled[output];`,
    `  const same = String(actual?.contiguous().toTypedArray()) === String(expected.contiguous().toTypedArray());`,
    `  console.log(\`output \${output}: \${same ? 'the same' : 'DIFFERENT'}\\n  eager    \${String(expected)}\\n  compiled \${String(actual)}\`);`,
    `  if (!same) process.exitCode = 1;`,
    `});`,
    '',
  ].join('\n');
}

const letters = 'abcdefghijklmnopqrstuvwxyz';

/** Inputs are a, b, c; results v0, v1 ... */
const nameValues = ({ inputs, steps }: FuzzProgram): readonly string[] => [
  ...inputs.map((_, id) => letters[id] ?? `input${String(id)}`),
  ...Array.from({ length: steps.reduce((count, { results }) => count + results, 0) }, (_, k) => `v${String(k)}`),
];

function printSteps({ inputs, steps }: FuzzProgram, names: readonly string[]): readonly string[] {
  let next = inputs.length;
  return steps.map((step) => {
    const made = Array.from({ length: step.results }, () => names[next++] ?? '');
    const call = printCall(step, names);
    if (made.length === 0) return `  ${call};`;
    const isList = get(operators, step.op).results !== undefined || /^(max|min)$/.test(step.op);
    return isList ? `  const [${made.join(', ')}] = ${call} as Tensor[];` : `  const ${made[0] ?? ''} = ${call};`;
  });
}

const camelCase = (name: string): string =>
  name.replace(/(?<=[a-z0-9])_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

/** The dotted path of an operator's function form. */
function functionPath({ torch, name }: Operator): string {
  const dotted = torch.find((each) => !each.startsWith('Tensor.')) ?? name;
  return dotted.split('.').map(camelCase).join('.');
}

const isProperty = ({ parameters, name }: Operator): boolean => parameters.length === 1 && /^m?[A-Z]$/.test(name);

/** Overloads and building blocks have no public name of their own. */
const needsDispatch = ({ op, inPlace }: Step): boolean => !inPlace && get(operators, op).forms.length === 0;

const isMethodCall = ({ op, inPlace, positional }: Step): boolean =>
  (inPlace || get(operators, op).forms.includes('method')) && isValueRef(positional[0] ?? null);

const functionsUsed = ({ steps }: FuzzProgram): readonly string[] => [
  ...steps
    .filter((step) => !isMethodCall(step) && !needsDispatch(step))
    .map(({ op }) => at(functionPath(get(operators, op)).split('.'), 0)),
  ...(JSON.stringify(steps).includes('"float":') ? ['float'] : []),
];

function printCall(step: Step, names: readonly string[]): string {
  const operator = get(operators, step.op);
  const positional = step.positional.map((argument) => printArgument(argument, names));
  const named = Object.entries(step.named).map(([name, argument]) => `${name}: ${printArgument(argument, names)}`);
  const options = named.length > 0 ? [`{ ${named.join(', ')} }`] : [];
  if (needsDispatch(step))
    return `(dispatch('${step.op}', [${positional.join(', ')}], ${options[0] ?? '{}'}) as Tensor)`;
  if (!isMethodCall(step)) return `${functionPath(operator)}(${[...positional, ...options].join(', ')})`;
  const [receiver = '', ...rest] = positional;
  if (!step.inPlace && isProperty(operator)) return `${receiver}.${step.op}`;
  return `${receiver}.${step.op}${step.inPlace ? '_' : ''}(${[...rest, ...options].join(', ')})`;
}

function printArgument(argument: Argument, names: readonly string[]): string {
  if (argument === null || typeof argument !== 'object') return JSON.stringify(argument);
  if (Array.isArray(argument))
    return `[${(argument as readonly Argument[]).map((item) => printArgument(item, names)).join(', ')}]`;
  if ('value' in argument) return names[argument.value] ?? '';
  if ('float' in argument) return `float(${String(argument.float)})`;
  if ('bigint' in argument) return `${argument.bigint}n`;
  return JSON.stringify(argument);
}

const printInput = ({ dtype, shape, strides, offset, data }: InputSpec): string =>
  `fromBuffer(bytes('${data}'), { dtype: '${dtype}', shape: [${shape.join(', ')}], strides: [${strides.join(', ')}], offset: ${String(offset)} })`;
