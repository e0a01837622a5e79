// A CUDA batch as a C++ unit that runs on the host: the emulation's header, the unchanged source, and for each program an
// entry with the C ABI of compiled graphs, which launches its kernels one after the other. More entries hand out the message
// of the latest failure, and what was printed.
import { Lines } from '@tsinductor/base';
import { Definitions, printScalarIndex, rangeTest, safeName } from '@tsinductor/codegen';
import type { PositionContext } from '@tsinductor/codegen';
import type { Index } from '@tsinductor/ir';
import { cudaDialect } from './cuda-dialect.ts';
import type { CudaArgument, CudaBatch, CudaKernel } from './generate.ts';
import { elementDefinition } from './prelude/scalar-types.ts';

type Program = CudaBatch['programs'][number];

interface EmulatedProgram extends Program {
  /** The symbol of its entry. */
  readonly entry: string;
}

export interface EmulatedUnit {
  readonly name: string;
  readonly source: string;
  readonly programs: readonly EmulatedProgram[];
  /** The symbol of the entry that writes the latest message (at most 512 bytes, ending in 0) to its first buffer. */
  readonly messageEntry: string;
  /** The symbol of the entry that moves what was printed into five words; `printedEntry` gives its text out. */
  readonly logEntry: string;
  /** The symbol of the entry that copies the text of such words (its first buffer) to memory (its second), and frees it. */
  readonly printedEntry: string;
}

/** What an entry returns where the emulation found a fault. */
export const emulationFailed = -1;

const messageEntry = 'emulation_message';
const logEntry = 'emulation_log';
const printedEntry = 'emulation_printed';

interface EmulationOptions {
  /** The text of the emulation's header. */
  readonly header: string;
  /** The unit's name, which no other unit of a library has. */
  readonly name: string;
}

export function emulatedUnit({ source, programs }: CudaBatch, { header, name }: EmulationOptions): EmulatedUnit {
  const named = programs.map((program, position) => ({ ...program, entry: `${name}_${String(position)}` }));
  const definitions = new Definitions();
  const entries = named.map((program) => entryText(program, definitions));
  const functions = definitions.list.filter(({ text }) => !text.startsWith('typedef')).map(({ text }) => text);
  const text = [
    header,
    'struct Runtime;',
    source,
    'namespace entries {',
    ...functions,
    ...entries,
    entriesText,
    '}',
    '',
  ];
  return { name: `${name}.cpp`, source: text.join('\n'), programs: named, messageEntry, logEntry, printedEntry };
}

const handsOut = (entry: string, statements: readonly string[]): string => {
  const lines = new Lines();
  const opening = `extern "C" __attribute__((weak)) int ${entry}(char *const *buffers, const long *, const Runtime *) {`;
  lines.block(opening, () => {
    for (const statement of statements) lines.line(statement);
    lines.line('return 0;');
  });
  return lines.toString();
};

const entriesText = [
  handsOut(messageEntry, ['strcpy(buffers[0], emulation::message());']),
  handsOut(logEntry, ['*(emulation::PrintLog *)buffers[0] = emulation::takeLog();']),
  handsOut(printedEntry, [
    'const emulation::PrintLog &log = *(const emulation::PrintLog *)buffers[0];',
    'memcpy(buffers[1], log.text, log.bytes);',
    'free(log.text);',
  ]),
].join('\n');

const sizeName = (name: string): string => safeName(name, cudaDialect.reserved);

function entryText({ entry, kernels, sizes, words }: EmulatedProgram, definitions: Definitions): string {
  const context: PositionContext = {
    dialect: cudaDialect,
    use: (needs) => {
      definitions.add(needs);
    },
    isVector: () => false,
  };
  const print = (index: Index): string => printScalarIndex(index, context);
  const lines = new Lines();
  lines.block(`extern "C" int ${entry}(char *const *buffers, const long *sizes, const Runtime *) {`, () => {
    lines.line('int status = 0;');
    sizes.forEach((size, position) => {
      const isWord = words !== undefined && position >= words.from;
      const source = isWord
        ? `reinterpret_cast<const long *>(buffers[${String(words.position)}])[${String(position - words.from)}]`
        : `sizes[${String(position)}]`;
      lines.line(`const i64 ${sizeName(size)} = ${source};`);
    });
    lines.line(`const long all[] = {${[...sizes.map(sizeName), '0'].join(', ')}};`);
    for (const kernel of kernels) writeLaunch(lines, kernel, { print, sizes });
    lines.line('return status == 0 ? 0 : 2147483647 - status + 1;');
  });
  return lines.toString();
}

interface Launching {
  readonly print: (index: Index) => string;
  readonly sizes: readonly string[];
}

function writeLaunch(lines: Lines, kernel: CudaKernel, { print, sizes }: Launching): void {
  const buffers = kernel.arguments.filter(
    (argument): argument is CudaArgument & { kind: 'buffer' } => argument.kind === 'buffer',
  );
  const opening = kernel.range === undefined ? '{' : `if (${rangeTest(kernel.range, sizeName)}) {`;
  lines.block(opening, () => {
    const items = buffers.map(({ name, position, offset, bytes, isWritten }) => {
      const address = `buffers[${String(position)}] + ${print(offset)}`;
      return `{"${name}", ${address}, (size_t)(${print(bytes)}), ${String(isWritten)}}`;
    });
    lines.line(`const emulation::Argument arguments[] = {${[...items, '{}'].join(', ')}};`);
    const call = kernel.arguments.map((argument) => {
      switch (argument.kind) {
        case 'buffer':
          return `(${argument.isWritten ? '' : 'const '}${elementDefinition(argument.dtype).name} *)own[${String(buffers.indexOf(argument))}]`;
        case 'size':
          return `(i64)given[${String(sizes.indexOf(argument.name))}]`;
        case 'status':
          return 'failed';
      }
    });
    lines.line('const auto body = [](char *const *own, const long *given, int *failed) {');
    lines.line(`  ${kernel.name}(${call.join(', ')});`);
    lines.line('};');
    const { threads, sharedBytes, isCollective, name } = kernel;
    const geometry = `"${name}", (long)(${print(kernel.blocks)}), ${String(threads)}, ${String(sharedBytes)}, ${String(isCollective)}`;
    lines.line(
      `if (!emulation::launch({${geometry}, body, arguments, ${String(buffers.length)}}, all, &status)) return ${String(emulationFailed)};`,
    );
  });
}
