// Settings of the passes over graphs: the program's own, and which of ours run.

export const graphPasses = {
  patternMatcher: {
    type: 'bool',
    default: true,
    affects: 'code',
    doc: "Put other graphs in the place of parts that rules find (`replacement`), the compiler's own rules and those of the program's passes.",
  },
  usePreGradPasses: {
    type: 'bool',
    default: true,
    affects: 'code',
    doc: 'Run passes on graphs as they are traced, where operators are still those that the program calls: `preGradCustomPass` and `preGradFusionOptions`.',
  },
  preGradCustomPass: {
    type: 'hook',
    default: null,
    nullable: true,
    affects: 'code',
    doc: 'Is given every graph as it was traced, before gradients are made of it, and gives the graph to compile: with the same inputs, and outputs of the same shapes and dtypes. `graphPass` makes one of replacements.',
  },
  preGradFusionOptions: {
    type: 'stringList',
    default: [],
    pattern:
      '^(batch_linear|batch_linear_lhs|batch_layernorm|batch_tanh|batch_relu|batch_sigmoid|unbind_stack|split_cat)(:[1-9][0-9]*)?$',
    affects: 'code',
    doc: 'Passes on graphs as traced, in the order in which they run: those called batch join calls of the same, known shapes that do not depend on each other into one, unbind_stack and split_cat drop what is taken apart to be put together again. A number behind a colon is how many calls, or pieces, it takes at least, as in batch_linear:4; 2 otherwise.',
  },
  addPreGradPasses: {
    type: 'stringList',
    default: [],
    pattern:
      '^(batch_linear|batch_linear_lhs|batch_layernorm|batch_tanh|batch_relu|batch_sigmoid|unbind_stack|split_cat)$',
    affects: 'code',
    doc: 'Passes of `preGradFusionOptions` to run beside those that stand there.',
  },
  removePreGradPasses: {
    type: 'stringList',
    default: [],
    pattern:
      '^(batch_linear|batch_linear_lhs|batch_layernorm|batch_tanh|batch_relu|batch_sigmoid|unbind_stack|split_cat)$',
    affects: 'code',
    doc: 'Passes of `preGradFusionOptions` and `addPreGradPasses` to leave out.',
  },
  efficientConvBnEvalFxPasses: {
    type: 'bool',
    default: false,
    affects: 'code',
    doc: 'Multiply the weight of a convolution by the scale of the batch norm in evaluation that follows it, in the place of its result. Sums are rounded otherwise. With freezing it is done once.',
  },
  enableLinearBinaryFolding: {
    type: 'bool',
    default: false,
    env: ['TORCHINDUCTOR_ENABLE_LINEAR_BINARY_FOLDING'],
    affects: 'code',
    doc: 'With freezing: make what is added to a linear layer or a convolution, or multiplies it, part of its weight and bias, where it is a number, or a vector of the outputs that is frozen too. Sums are rounded otherwise.',
  },
  useJointGraphPasses: {
    type: 'bool',
    default: true,
    affects: 'code',
    doc: 'Fold constants, cancel views and share common subexpressions in graphs of primitives, of forward and backward pass together.',
  },
  jointGraphConstantFolding: {
    type: 'bool',
    default: true,
    affects: 'code',
    doc: 'With useJointGraphPasses: compute what is made of numbers alone when the graph is compiled.',
  },
  useDce: {
    type: 'bool',
    default: true,
    affects: 'code',
    doc: 'Drop calls that nothing needs from graphs.',
  },
  usePostGradPasses: {
    type: 'bool',
    default: true,
    affects: 'code',
    doc: "Run passes on graphs of primitives after gradients are made and what is computed again is decided: optimizeScatterUponConstTensor, onlineSoftmax, and the program's own.",
  },
  postGradCustomPrePass: {
    type: 'hook',
    default: null,
    nullable: true,
    affects: 'code',
    doc: 'Is given every graph in primitives after gradients are made and before our passes there, and gives the graph to compile: with the same inputs, and outputs of the same shapes and dtypes.',
  },
  postGradCustomPostPass: {
    type: 'hook',
    default: null,
    nullable: true,
    affects: 'code',
    doc: 'The same after our passes and before the graph becomes loops.',
  },
  optimizeScatterUponConstTensor: {
    type: 'bool',
    default: true,
    env: ['TORCHINDUCTOR_OPTIMIZE_SCATTER_UPON_CONST_TENSOR'],
    affects: 'code',
    doc: 'Make a choice at every element of a scatter of one element per row into a constant, so that it is part of the loop that reads it.',
  },
  fxPassesNumericCheck: {
    type: 'float',
    default: null,
    nullable: true,
    min: 0,
    affects: 'runtime',
    doc: 'Run the graph of a function that is one graph by the interpreter before and after each pass on it as traced, on the arguments of the call; that results differ by more than this, relative to the largest of them, is an error.',
  },
} as const;
