// Accesses that are compared with what their buffers have. What lies inside costs two comparisons for a run, and one of vectors for
// lanes at offsets; which element is outside is found out by functions that are seldom called, and written to the log.
import { primary } from '@tsinductor/codegen';
import type { BoundsText, Definition, Expression } from '@tsinductor/codegen';
import type { ValueType } from '@tsinductor/ir';
import type { Prelude } from './prelude.ts';
import { printLogType } from './print-functions.ts';
import { nowhereFunction } from './special-functions.ts';
import { elementDefinition, inlineFunction, typeDefinition, typeName } from './vector-types.ts';
import type { Isa } from '../machine/isa.ts';

const integer = elementDefinition('i64');

const outsideRun: Definition = {
  name: 'outside_run',
  text: inlineFunction({ returns: 'bool', name: 'outside_run', parameters: 'i64 at, i64 step, i64 count, i64 size' }, [
    'const i64 last = at + (count - 1) * step;',
    'return count > 0 && ((at | last) < 0 || at >= size || last >= size);',
  ]),
  needs: [integer],
};

/** As `fail_unit`, with the element that is not there. */
const faultUnit: Definition = {
  name: 'fault_unit',
  text: [
    '__attribute__((noinline, cold))',
    'static void fault_unit(PrintLog *log, i64 unit, i64 site, i64 place) {',
    '  while (__atomic_exchange_n(&log->busy, 1, __ATOMIC_ACQUIRE) != 0) {}',
    '  if (log->failed == 0 || unit < log->unit) {',
    '    log->failed = site + 1;',
    '    log->unit = unit;',
    '    log->place = place;',
    '  }',
    '  __atomic_store_n(&log->busy, 0, __ATOMIC_RELEASE);',
    '}',
    '',
  ].join('\n'),
  needs: [printLogType],
};

const faultRun: Definition = {
  name: 'fault_run',
  text: [
    '__attribute__((noinline, cold))',
    'static bool fault_run(PrintLog *log, i64 unit, i64 site, i64 at, i64 step, i64 size) {',
    '  while (at >= 0 && at < size) at += step;',
    '  fault_unit(log, unit, site, at);',
    '  return true;',
    '}',
    '',
  ].join('\n'),
  needs: [faultUnit],
};

function faultMasked(mask: ValueType): Definition {
  const name = `fault_masked_${typeName(mask)}`;
  const text = [
    '__attribute__((noinline, cold))',
    `static bool ${name}(PrintLog *log, i64 unit, i64 site, i64 at, i64 step, ${typeName(mask)} mask, i64 size) {`,
    `  for (int lane = 0; lane < ${String(mask.lanes)}; ++lane, at += step) {`,
    '    if (mask[lane] == 0 || (at >= 0 && at < size)) continue;',
    '    fault_unit(log, unit, site, at);',
    '    return true;',
    '  }',
    '  return false;',
    '}',
    '',
  ].join('\n');
  return { name, text, needs: [faultUnit, typeDefinition(mask)] };
}

/** Whether lanes at offsets that a mask has are outside; negative ones are beyond all sizes as whole numbers without sign. */
function outsideLanes(offsets: ValueType, isa: Isa): Definition {
  const mask: ValueType = { dtype: 'bool', lanes: offsets.lanes };
  const [type, boolean] = [typeName(offsets), typeName(mask)];
  const nowhere = nowhereFunction(mask, isa);
  const isNarrow = offsets.dtype === 'i32';
  const [unsigned, bytes] = isNarrow ? ['unsigned', 4] : ['unsigned long', 8];
  const first = `fault_lanes_${type}`;
  const name = `outside_${type}`;
  const text = [
    '__attribute__((noinline, cold))',
    `static void ${first}(PrintLog *log, i64 unit, i64 site, ${type} offsets, ${boolean} outside) {`,
    '  int lane = 0;',
    '  while (outside[lane] == 0) ++lane;',
    '  fault_unit(log, unit, site, offsets[lane]);',
    '}',
    '',
    inlineFunction(
      {
        returns: 'bool',
        name,
        parameters: `PrintLog *log, i64 unit, i64 site, ${type} offsets, ${boolean} mask, i64 size`,
      },
      [
        `typedef ${unsigned} whole __attribute__((vector_size(${String(bytes * offsets.lanes)})));`,
        `const ${unsigned} most = ${isNarrow ? 'size > 2147483648L ? 2147483648u : (unsigned)size' : '(unsigned long)size'};`,
        `const ${type} beyond = (${type})((whole)offsets >= most);`,
        `const ${boolean} outside = mask & ${isNarrow ? 'beyond' : `__builtin_convertvector(beyond, ${boolean})`};`,
        `if (${nowhere.name}(outside)) return false;`,
        `${first}(log, unit, site, offsets, outside);`,
        'return true;',
      ],
    ),
  ].join('\n');
  return { name, text, needs: [faultUnit, nowhere, typeDefinition(offsets), typeDefinition(mask)] };
}

export function isOutside({ run, offsets, mask, size, unit, site }: BoundsText, prelude: Prelude): Expression {
  const where = ['log', unit, String(site)];
  const { at, step, count } = run;
  if (offsets !== undefined) {
    const lanes: ValueType = { dtype: 'bool', lanes: offsets.type.lanes };
    const all = `${typeName(lanes)}{} == 0`;
    const definition = prelude.of(outsideLanes, offsets.type, prelude.isa);
    const args = [...where, offsets.text, mask?.text ?? all, size];
    return primary(`${definition.name}(${args.join(', ')})`, [definition]);
  }
  const isBeside = `outside_run(${[at, step, count, size].join(', ')})`;
  if (mask !== undefined && mask.type.lanes > 1) {
    const definition = prelude.of(faultMasked, mask.type);
    const args = [...where, at, step, mask.text, size];
    return primary(`${isBeside} && ${definition.name}(${args.join(', ')})`, [outsideRun, definition]);
  }
  const guard = mask === undefined ? '' : `(${mask.text}) && `;
  const fault = `fault_run(${[...where, at, step, size].join(', ')})`;
  return primary(`${guard}${isBeside} && ${fault}`, [outsideRun, faultRun]);
}
