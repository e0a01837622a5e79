// One case of the oracle: decoded, called as a user calls it, and compared with what PyTorch said.
import { float, fromBuffer, isTensor, Tensor } from '@tsinductor/tensor';
import { camelKeys, callOf } from '../conformance/cases.mjs';
import { difference } from '../conformance/compare.mjs';
import { dtypeNames } from '../conformance/golden.mjs';

const nonFinite = { inf: Infinity, '-inf': -Infinity, nan: NaN };

export function decode(value) {
  if (Array.isArray(value)) return value.map(decode);
  if (value === null || typeof value !== 'object') return value;
  if ('t' in value) return decodeTensor(value.t);
  if ('f' in value) return float(typeof value.f === 'number' ? value.f : nonFinite[value.f]);
  if ('i' in value) return BigInt(value.i);
  if ('slice' in value) return { slice: value.slice.map(decode) };
  if ('dtype' in value) return dtypeNames[value.dtype];
  if ('memory_format' in value) return value.memory_format;
  return value;
}

const decodeNamed = (kwargs) => Object.fromEntries(Object.entries(kwargs).map(([key, item]) => [key, decode(item)]));

function decodeTensor({ dtype, shape, strides, offset, base64 }) {
  const bytes = Buffer.from(base64, 'base64');
  const memory = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
  return fromBuffer(memory, { dtype: dtypeNames[dtype], shape, strides, offset });
}

const camelCase = (name) => name.replace(/(?<=[a-z0-9])_([a-z0-9])/g, (_, letter) => letter.toUpperCase());

/** The function of a name: `Tensor.add_` is the method that writes. */
function functionFor(aten) {
  const isWriting = /^Tensor\..*[^_]_$/.test(aten);
  // `to` names devices too, which only the method knows.
  if (!isWriting && aten !== 'Tensor.to') return callOf(aten)?.call;
  const name = aten.slice('Tensor.'.length);
  const method = Tensor.prototype[isWriting ? `${camelCase(name.slice(0, -1))}_` : name];
  return method && (([self, ...args], kwargs) => method.apply(self, [...args, kwargs]));
}

/**
 * What PyTorch says where it has less than we do: kernels for fewer dtypes, an overload without an option. Integer
 * division by zero is an error there and 0 here (docs/ops/definitions.md).
 */
const hasLess =
  /not implemented for|not support|only support|[eE]xpected .*dtype|scalar type|type Half|type BFloat16|must be .*(float|integer|integral)|Unsupported input type|not yet implemented|missing \d required|invalid combination of arguments|ZeroDivision/;

/** { kind, why }: `why` says what differs. */
export function answer(entry) {
  const run = functionFor(entry.aten);
  if (run === undefined) return { kind: 'missing', why: `we have no ${entry.aten}` };
  let outputs;
  try {
    const result = run(decode(entry.args), camelKeys(decodeNamed(entry.kwargs)));
    // Several tensors are flattened; a list of numbers is one result.
    outputs =
      Array.isArray(result) && result.some((item) => typeof item === 'object') ? result.flat(Infinity) : [result];
  } catch (error) {
    return refused(entry, error);
  }
  if (entry.error !== undefined)
    return hasLess.test(entry.error)
      ? { kind: 'wider' }
      : { kind: 'accepted', why: `accepted, where PyTorch says: ${entry.error.split('\n')[0]}` };
  const why = outputsDiffer(entry, outputs);
  return why === undefined ? { kind: 'equal' } : { kind: 'different', why };
}

function refused(entry, error) {
  const said = `${error?.code ?? error?.name}: ${error?.message}`;
  if (error?.name !== 'UserError') return { kind: 'crashed', why: `crashed: ${said}` };
  return entry.error === undefined ? { kind: 'refused alone', why: `refused: ${said}` } : { kind: 'refused' };
}

function outputsDiffer({ outputs: expected, rtol, atol, unspecified }, outputs) {
  if (outputs.length !== expected.length) return `${outputs.length} results, PyTorch has ${expected.length}`;
  for (const [position, encoded] of expected.entries()) {
    const actual = outputs[position];
    const wanted = isTensor(actual) || typeof encoded === 'object' ? decode(encoded) : encoded;
    const why = difference(actual, wanted, { rtol, atol, skipValues: unspecified.includes(position) });
    if (why !== undefined) return `output ${position}: ${why}`;
  }
  return undefined;
}

/** The call in PyTorch's notation, tensors as dtype and shape, small ones with their elements. */
export function printCall({ aten, args, kwargs }) {
  const named = Object.entries(kwargs).map(([key, value]) => `${key}=${printValue(value)}`);
  return `${aten}(${[...args.map(printValue), ...named].join(', ')})`;
}

function printValue(value) {
  if (Array.isArray(value)) return `[${value.map(printValue).join(', ')}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if ('f' in value)
    return typeof value.f === 'number' && Number.isInteger(value.f) ? value.f.toFixed(1) : String(value.f);
  if (!('t' in value)) return JSON.stringify(value);
  const tensor = decodeTensor(value.t);
  const gaps = tensor.isContiguous() ? '' : ` strides [${tensor.strides.join(', ')}]`;
  const elements = tensor.numel > 0 && tensor.numel <= 6 ? ` = ${[...tensor.toTypedArray()].join(' ')}` : '';
  return `${tensor.dtype}[${tensor.shape.join(', ')}]${gaps}${elements}`;
}
