// Sources for jest: swc strips the types, then names of the language's own globals become constants of their module. A
// module under test runs in a context of its own, where each look at a global calls into Node: `Math.imul` in a loop takes
// a hundred times as long as in a program. On the first line, so that lines stay what they were.
import swc from '@swc/jest';

const globals =
  'Array ArrayBuffer Atomics BigInt BigInt64Array Boolean DataView Error Float32Array Float64Array Infinity Int16Array Int32Array Int8Array JSON Map Math NaN Number Object Promise Reflect Set SharedArrayBuffer String Symbol Uint16Array Uint32Array Uint8Array WeakMap'.split(
    ' ',
  );

/** Code whose globals are constants, but for those that it declares itself. */
function withConstants(code) {
  const used = globals.filter(
    (name) =>
      new RegExp(`\\b${name}\\b`).test(code) &&
      !new RegExp(`\\b(?:class|function|const|let|var)\\s+${name}\\b|import\\b[^;]*\\b${name}\\b[^;]*from`).test(code),
  );
  return used.length === 0 ? code : `const { ${used.join(', ')} } = globalThis; ${code}`;
}

const inlineMap = /\n\/\/# sourceMappingURL=data:application\/json;base64,([A-Za-z0-9+/=]*)\s*$/;

/**
 * The source map beside the text, where Jest looks for it too. At the end of the text it is part of what the engine's inspector says of
 * every script of the process, each time that it is asked for the text of one.
 */
function withMapApart(result) {
  const [found, map] = inlineMap.exec(result.code) ?? [];
  if (found === undefined) return result;
  return { ...result, code: result.code.slice(0, -found.length), map: Buffer.from(map, 'base64').toString() };
}

export default {
  createTransformer(options) {
    const plain = swc.createTransformer(options);
    const adapt = (result) => withMapApart({ ...result, code: withConstants(result.code) });
    return {
      ...plain,
      process: (...args) => adapt(plain.process(...args)),
      processAsync: async (...args) => adapt(await plain.processAsync(...args)),
      getCacheKey: (...args) => `${plain.getCacheKey(...args)}-constants-maps`,
    };
  },
};
