// What a kernel prints: lines in a log that whoever calls the entry owns. A line is a record: the place of its instance in
// the grid and its length, 8 bytes each, then its text. Threads add records in any order, those of one instance in its own.
// Where instances fail, the log has the first of them in the grid, and the site at which it did.
import { printfArguments, primary } from '@tsinductor/codegen';
import type { Definition, Expression, FailureText, LineText } from '@tsinductor/codegen';
import { elementDefinition } from './vector-types.ts';

/** Words that are 0 before the call: `printLogWords` of them. */
export const printLogType: Definition = {
  name: 'PrintLog',
  text: ['struct PrintLog {', '  char *text;', '  i64 bytes, room, lost, busy, failed, unit, place;', '};', ''].join(
    '\n',
  ),
  needs: [elementDefinition('i64')],
};

/**
 * The words of a log: the bytes of its text in the second, in the fourth how many lines there was no memory for, in the sixth
 * 1 + the site of a failure, in the seventh the place of the instance that failed, and in the last the element that is not there.
 */
export const printLogWords = 8;

const lineFunction: Definition = {
  name: 'print_line',
  text: [
    '__attribute__((noinline, cold, format(printf, 3, 4)))',
    'static void print_line(PrintLog *log, i64 unit, const char *format, ...) {',
    '  __builtin_va_list values, again;',
    '  __builtin_va_start(values, format);',
    '  __builtin_va_copy(again, values);',
    '  const i64 length = __builtin_vsnprintf(nullptr, 0, format, values);',
    '  while (__atomic_exchange_n(&log->busy, 1, __ATOMIC_ACQUIRE) != 0) {}',
    '  const i64 end = log->bytes + 16 + length;',
    '  if (end >= log->room) {',
    '    void *const grown = __builtin_realloc(log->text, 2 * end + 1024);',
    '    if (grown != nullptr) {',
    '      log->text = (char *)grown;',
    '      log->room = 2 * end + 1024;',
    '    }',
    '  }',
    '  if (end < log->room) {',
    '    char *const record = log->text + log->bytes;',
    '    __builtin_memcpy(record, &unit, 8);',
    '    __builtin_memcpy(record + 8, &length, 8);',
    '    __builtin_vsnprintf(record + 16, length + 1, format, again);',
    '    log->bytes = end;',
    '  } else {',
    '    log->lost += 1;',
    '  }',
    '  __atomic_store_n(&log->busy, 0, __ATOMIC_RELEASE);',
    '  __builtin_va_end(again);',
    '  __builtin_va_end(values);',
    '}',
    '',
  ].join('\n'),
  needs: [printLogType],
};

export const printLine = (line: LineText): Expression =>
  primary(`print_line(log, ${[line.unit, ...printfArguments(line)].join(', ')})`, [lineFunction]);

const failFunction: Definition = {
  name: 'fail_unit',
  text: [
    '__attribute__((noinline, cold))',
    'static void fail_unit(PrintLog *log, i64 unit, i64 site) {',
    '  while (__atomic_exchange_n(&log->busy, 1, __ATOMIC_ACQUIRE) != 0) {}',
    '  if (log->failed == 0 || unit < log->unit) {',
    '    log->failed = site + 1;',
    '    log->unit = unit;',
    '  }',
    '  __atomic_store_n(&log->busy, 0, __ATOMIC_RELEASE);',
    '}',
    '',
  ].join('\n'),
  needs: [printLogType],
};

export const failUnit = ({ unit, site }: FailureText): Expression =>
  primary(`fail_unit(log, ${unit}, ${String(site)})`, [failFunction]);

/** The symbol of the entry that copies a log's text (its first buffer) to memory (its second), and frees it. */
export const printedEntry = 'take_printed';

export const printedEntryText: string = [
  `extern "C" int ${printedEntry}(char *const *buffers, const long *, const Runtime *) {`,
  '  PrintLog *const log = (PrintLog *)buffers[0];',
  '  __builtin_memcpy(buffers[1], log->text, log->bytes);',
  '  __builtin_free(log->text);',
  '  return 0;',
  '}',
  '',
].join('\n');
