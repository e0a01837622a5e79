// Loads of lanes that lie a few elements apart, or backwards: the vectors that they lie in, taken apart in registers. In: the
// type and the distance from lane to lane. Out: the function, or nothing where lanes are loaded one by one. No element is
// read that lies outside of the first and the last lane: the last vector ends with the last lane.
//
// (Measured on a Cascade Lake: 16 lanes at distance 2 in two loads and a shuffle, where lane by lane they are 16 loads and as many
// instructions that put them together.)
import { at, dtypeInfo } from '@tsinductor/base';
import type { Definition } from '@tsinductor/codegen';
import type { ValueType } from '@tsinductor/ir';
import type { Isa } from '../machine/isa.ts';
import { loadFunction, loadMaskedFunction, loadsUnderMask } from './memory-functions.ts';
import { elementDefinition, inlineFunction, typeDefinition, typeName } from './vector-types.ts';

/** `p` is where the first lane is. */
export function loadSpreadFunction(type: ValueType, step: number): Definition {
  const whole = loadFunction(type);
  const vector = typeName(type);
  const name = step < 0 ? `load_reversed_${vector}` : `load_every${String(step)}_${vector}`;
  const element = elementDefinition(type.dtype).name;
  const body = step < 0 ? reversed(type, whole) : picked(type, { step, whole });
  const text = inlineFunction({ returns: vector, name, parameters: `const ${element} *p` }, body);
  return { name, text, needs: [elementDefinition(type.dtype), typeDefinition(type), whole] };
}

/** Whether lanes that lie a few elements apart, and of which a mask leaves some out, are loaded in vectors. */
export const spreadsUnderMask = (type: ValueType, step: number | undefined, isa: Isa): boolean =>
  step !== undefined && step >= 2 && dtypeInfo[type.dtype].bytes === 4 && loadsUnderMask(type, isa);

/** The same of the lanes of a mask alone: what it leaves out, and what lies between lanes, is not read. */
export function loadSpreadMaskedFunction(type: ValueType, step: number, isa: Isa): Definition {
  const { lanes } = type;
  const load = loadMaskedFunction(type, isa);
  const mask: ValueType = { dtype: 'bool', lanes };
  const [vector, flags] = [typeName(type), typeName(mask)];
  const lines = [`const ${flags} no_lanes = {};`, `const ${vector} none = {};`];
  let sofar = '';
  for (let part = 0; part * lanes <= (lanes - 1) * step; part += 1) {
    const places = Array.from({ length: lanes }, (_, place) => part * lanes + place);
    const from = places.map((place) => (place % step === 0 ? place / step : lanes));
    const here = shuffle('mask', 'no_lanes', from);
    const loaded = `x${String(part)}`;
    lines.push(`const ${vector} ${loaded} = ${load.name}(p + ${String(part * lanes)}, ${here}, none);`);
    const order = Array.from({ length: lanes }, (_, lane) => {
      const place = lane * step - part * lanes;
      const isHere = place >= 0 && place < lanes;
      return isHere ? (part === 0 ? place : lanes + place) : lane;
    });
    const both = part === 0 ? shuffle(loaded, loaded, order) : shuffle(sofar, loaded, order);
    sofar = `y${String(part)}`;
    lines.push(`const ${vector} ${sofar} = ${both};`);
  }
  lines.push(`return mask ? ${sofar} : other;`);
  const name = `load_every${String(step)}_masked_${vector}`;
  const parameters = `const ${elementDefinition(type.dtype).name} *p, ${flags} mask, ${vector} other`;
  const text = inlineFunction({ returns: vector, name, parameters }, lines);
  return { name, text, needs: [elementDefinition(type.dtype), typeDefinition(type), typeDefinition(mask), load] };
}

function reversed(type: ValueType, { name }: Definition): readonly string[] {
  const last = type.lanes - 1;
  const order = Array.from({ length: type.lanes }, (_, lane) => last - lane);
  return [`const ${typeName(type)} x = ${name}(p - ${String(last)});`, `return ${shuffle('x', 'x', order)};`];
}

interface Picking {
  readonly step: number;
  readonly whole: Definition;
}

/** Shuffles one vector after another into the lanes that it has. */
function picked(type: ValueType, { step, whole }: Picking): readonly string[] {
  const { lanes } = type;
  const last = (lanes - 1) * (step - 1);
  const places = Array.from({ length: lanes }, (_, lane) => {
    const place = lane * step;
    const start = Math.min(Math.floor(place / lanes) * lanes, last);
    return { start, offset: place - start };
  });
  const starts = [...new Set(places.map(({ start }) => start))];
  const vector = typeName(type);
  const lines = starts.map((start, part) => `const ${vector} x${String(part)} = ${whole.name}(p + ${String(start)});`);
  let sofar = 'x0';
  for (let part = 1; part < starts.length; part += 1) {
    const order = places.map(({ start, offset }, lane) => {
      if (start === starts[part]) return lanes + offset;
      return part === 1 && start === at(starts, 0) ? offset : lane;
    });
    const name = part === starts.length - 1 ? undefined : `y${String(part)}`;
    const both = shuffle(sofar, `x${String(part)}`, order);
    lines.push(name === undefined ? `return ${both};` : `const ${vector} ${name} = ${both};`);
    sofar = name ?? sofar;
  }
  return lines;
}

const shuffle = (left: string, right: string, order: readonly number[]): string =>
  `__builtin_shufflevector(${left}, ${right}, ${order.join(', ')})`;
