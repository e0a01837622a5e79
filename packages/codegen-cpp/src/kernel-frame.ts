// How a C++ kernel takes its arguments: buffers and sizes in a struct, so that the bodies of its parallel loops, which are
// functions of their own, get the same struct as their context.
import { Lines } from '@tsinductor/base';
import type { KernelFrame, KernelText, ParameterText } from '@tsinductor/codegen';

type Used = (name: string) => boolean;

export function kernelFrame({ name, linkage, parameters }: KernelText): KernelFrame {
  const opening = (used: Used): readonly string[] =>
    parameters.filter((parameter) => parameter.kind === 'size' || used(parameter.name)).map(unpacked);
  return {
    struct: argumentStruct(name, parameters),
    prototype: `${linkage}void ${name}(const Runtime *runtime, const ${name}_args &args)`,
    opening,
    part: {
      prototype: ({ name: part, begin, end }) => `static void ${part}(void *context, i64 ${begin}, i64 ${end})`,
      opening: (used) => [`const ${name}_args &args = *static_cast<const ${name}_args *>(context);`, ...opening(used)],
    },
  };
}

function argumentStruct(name: string, parameters: readonly ParameterText[]): string {
  const lines = new Lines();
  lines.block(
    `struct ${name}_args {`,
    () => {
      for (const parameter of parameters) lines.line(`${memberType(parameter)}${parameter.name};`);
    },
    '};',
  );
  return lines.toString();
}

function memberType({ kind, type, isWritten }: ParameterText): string {
  if (kind === 'size') return `${type} `;
  return `${isWritten ? '' : 'const '}${type} *`;
}

function unpacked({ kind, name, type, isWritten }: ParameterText): string {
  if (kind === 'size') return `const ${type} ${name} = args.${name};`;
  return `${isWritten ? '' : 'const '}${type} *const ${name} = args.${name};`;
}
