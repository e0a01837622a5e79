// Backward formulas of norms, written out, at magnitudes where a sum of products without its norm might leave the floats: what
// is compiled (which takes the norm out of the sum) against the same formula in double precision.
import { expect, test } from '@jest/globals';
import { compile, randn } from 'tsinductor';
import type { Tensor } from 'tsinductor';

function layerNormBackward(g: Tensor, x: Tensor): Tensor {
  const centred = x.sub(x.mean(-1, true));
  const scale = centred.mul(centred).mean(-1, true).add(1e-5).rsqrt();
  const normal = centred.mul(scale);
  const along = g.mul(normal).mean(-1, true);
  return g.sub(g.mean(-1, true)).sub(normal.mul(along)).mul(scale);
}

function rmsNormBackward(g: Tensor, x: Tensor): Tensor {
  const root = x.square().mean(-1, true).add(1e-6).sqrt();
  const normal = x.div(root);
  return g.sub(normal.mul(g.mul(normal).mean(-1, true))).div(root);
}

test.each([
  ['a layer norm', layerNormBackward],
  ['an RMS norm', rmsNormBackward],
])('the backward of %s holds from 1e-17 to 1e17', (_name, backward) => {
  const compiled = compile(backward);
  for (const size of [1e-17, 1e-6, 1, 1e6, 1e17]) {
    for (const slope of [1e-17, 1, 1e17]) {
      const [g, x] = [randn([4, 300]).mul(slope), randn([4, 300]).mul(size)];
      const expected = backward(g.to('f64'), x.to('f64')).toTypedArray() as Float64Array;
      const actual = compiled(g, x).toTypedArray() as Float32Array;
      const largest = expected.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
      const worst = expected.reduce((most, value, i) => Math.max(most, Math.abs(value - (actual[i] ?? NaN))), 0);
      expect(worst / largest).toBeLessThan(1e-5);
    }
  }
});
