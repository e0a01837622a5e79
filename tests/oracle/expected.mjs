// Differences from PyTorch 1.13 that are meant to be: each class with its reason, told by operator and by what differs. No
// class admits an error of rounding; what is in none of them is a difference.

/** @typedef {import('@tsinductor/tensor').Tensor} Tensor */

const elementsOf = (value) => (typeof value === 'object' ? [...value.toTypedArray()] : [value]).map(Number);

/** Whether some shift is by a negative number, or by the width of the result's dtype and more. */
function shiftsTooFar([x, by]) {
  const widths = [x, by].flatMap((value) =>
    typeof value === 'object' ? [value.toTypedArray().BYTES_PER_ELEMENT * 8] : [],
  );
  return elementsOf(by).some((places) => places < 0 || places >= Math.min(...widths));
}

/** Whether some sequence does not ascend. */
function descends([first, second]) {
  return [first, second].some((value) => {
    if (typeof value !== 'object' || value.dim === 0) return false;
    const width = value.shape.at(-1);
    const elements = elementsOf(value);
    return elements.some((element, i) => i % width > 0 && !(elements[i - 1] <= element));
  });
}

/** @type {{ op: RegExp, why: RegExp, call?: RegExp, holds?: (args: unknown[]) => boolean, reason: string }[]} */
const classes = [
  {
    op: /polygamma/,
    why: /is Infinity, expected \d/,
    call: /polygamma\(1, /,
    reason: 'poles at negative whole numbers: PyTorch divides by the rounding error of its sine there',
  },
  {
    op: /^unique$/,
    why: /^output/,
    call: /sorted=false/,
    reason: 'the order of results that are not to be sorted is open',
  },
  {
    op: /^histogram$/,
    why: /^output/,
    call: /histogram\(\w+\[\d*\][^,]*, f\d+\[\d\]/,
    reason: 'edges of bins that do not ascend have no meaning: PyTorch says so, and searches them all the same',
  },
  {
    op: /^bitwise_(left|right)_shift$/,
    why: /^output/,
    holds: shiftsTooFar,
    reason:
      'shifts by a negative number, or by the width and more, are undefined in C++, in which PyTorch computes them',
  },
  {
    op: /^norm\.nuc$|^linalg\.(norm|matrix_norm)/,
    why: /UNSUPPORTED: .*singular values/,
    reason: 'norms of singular values are refused: there is no singular value decomposition yet',
  },
  {
    op: /^special\.zeta$/,
    why: /is 0, expected (NaN|-Infinity)/,
    reason: 'the sum is below the smallest number (exponents such as 1e20): PyTorch goes on to a series that overflows',
  },
  {
    op: /^dist$|pairwise_distance|^mvlgamma/,
    why: /expected -?Infinity/,
    call: /f16|bf16/,
    reason: 'PyTorch rounds intermediate values to 16 bits, where they overflow or meet a pole; here they are f32',
  },
  {
    op: /^(remainder|floor_divide)$/,
    why: /expected (NaN|-?Infinity)/,
    call: /bf16/,
    reason: 'PyTorch rounds the quotient by the smallest normal bf16 to bf16, where it overflows; here it is f32',
  },
  {
    op: /./,
    why: /DTYPE_MISMATCH|DTYPE_UNSUPPORTED|SHAPE_MISMATCH: (cholesky|addbmm_)/,
    call: /\[(\d+, )*0(, \d+)*\]/,
    reason: 'of tensors without elements PyTorch does not look at dtypes and shapes that it refuses otherwise',
  },
  {
    op: /^masked_(fill|scatter)$/,
    why: /DTYPE_MISMATCH: masked(Fill|Scatter): the mask is/,
    reason: 'masks of numbers: later versions of PyTorch refuse them too',
  },
  {
    op: /^cum(min|max)$/,
    why: /DIM_OUT_OF_RANGE/,
    reason: 'a dim that a 0-d tensor does not have: PyTorch does not look at it here, and refuses it elsewhere',
  },
  {
    op: /^diff$/,
    why: /ARGUMENT_VALUE: diff: n is -/,
    reason: 'a negative order, which PyTorch refuses too unless something is put in front',
  },
  {
    op: /^diag$/,
    why: /numel: integer multiplication overflow/,
    reason: 'a diagonal outside of the matrix is empty, as in later versions of PyTorch',
  },
  {
    op: /relu$/,
    why: /takes no keyword arguments/,
    reason: 'relu_ takes the option inplace of the function too',
  },
  {
    op: /^searchsorted$|^bucketize$/,
    why: /^output|INDEX_OUT_OF_RANGE/,
    holds: descends,
    reason: 'the sequence does not ascend, or a sorter is no order: undefined',
  },
  {
    op: /binary_cross_entropy_with_logits|huber_loss|gaussian_nll_loss/,
    why: /can't be cast to the desired output type/,
    reason: 'PyTorch writes a promoted value into an integer tensor of its own making, and fails; here it is promoted',
  },
  {
    op: /group_norm|instance_norm/,
    why: /is -?Infinity, expected NaN/,
    reason: 'an infinite weight: PyTorch makes one factor and one shift of weight, bias and mean, which cancel to NaN',
  },
  {
    op: /upsample_bilinear|interpolate/,
    why: /UNSUPPORTED: interpolate with antialias/,
    reason: 'antialiasing is refused: it is not there yet',
  },
  {
    op: /^addbmm$/,
    why: /SHAPE_MISMATCH: addbmm_: a value of shape/,
    reason: 'an in-place form keeps the shape of its tensor',
  },
  {
    op: /^linalg\.vander$/,
    why: /supports floating point, complex, and integer tensors/,
    reason: 'PyTorch has it for fewer dtypes',
  },
  {
    op: /^index_put$/,
    why: /INTERNAL ASSERT FAILED/,
    reason: 'a bug of PyTorch 1.13: an assertion of its own fails',
  },
];

/** Why a difference is meant to be; undefined if it is not. `args` gives the call's decoded arguments. */
export const reasonFor = ({ op, why, call }, args) =>
  classes.find(
    (each) =>
      each.op.test(op) && each.why.test(why) && (each.call?.test(call) ?? true) && (each.holds?.(args()) ?? true),
  )?.reason;
