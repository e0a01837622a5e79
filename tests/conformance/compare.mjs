// Comparing tensors with golden ones: shape and dtype exactly, values within the tolerance of the case. Integers and
// bools are exact, NaN equals NaN, infinities must match.

/** Why `actual` is not `expected`; undefined if it is. */
export function difference(actual, expected, { rtol, atol, skipValues = false }) {
  if (Array.isArray(expected)) {
    return JSON.stringify(actual) === JSON.stringify(expected) ? undefined : `is [${actual}], expected [${expected}]`;
  }
  if (typeof expected !== 'object' || expected === null) {
    const found = actual?.numel === 1 ? actual.item() : actual;
    return Object.is(found, expected) ? undefined : `is ${String(found)}, expected ${String(expected)}`;
  }
  if (actual.dtype !== expected.dtype) return `dtype ${actual.dtype}, expected ${expected.dtype}`;
  if (actual.shape.join() !== expected.shape.join()) return `shape [${actual.shape}], expected [${expected.shape}]`;
  if (skipValues) return undefined;
  return valueDifference(actual.toTypedArray(), expected.toTypedArray(), { rtol, atol });
}

function valueDifference(actual, expected, { rtol, atol }) {
  let worst;
  let wrong = 0;
  for (let i = 0; i < expected.length; i += 1) {
    if (isClose(actual[i], expected[i], { rtol, atol })) continue;
    wrong += 1;
    worst ??= `element ${i} is ${actual[i]}, expected ${expected[i]}`;
  }
  return wrong === 0 ? undefined : `${wrong} of ${expected.length} elements differ: ${worst}`;
}

function isClose(actual, expected, { rtol, atol }) {
  if (actual === expected) return true;
  if (typeof expected === 'bigint' || typeof actual === 'bigint') return false;
  if (Number.isNaN(expected)) return Number.isNaN(actual);
  return Number.isFinite(expected) && Math.abs(actual - expected) <= atol + rtol * Math.abs(expected);
}
