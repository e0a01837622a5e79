// Settings of graphs that hold a forward and a backward pass: what is kept between them, and what is computed again.

export const training = {
  activationMemoryBudget: {
    type: 'float',
    default: 1,
    min: 0,
    max: 1,
    affects: 'code',
    doc: 'How much memory a training step may take at its peak, between the least that any partition of its forward and backward pass takes (0) and what it takes where nothing is computed again (1). Of the partitions that fit, the fastest is taken. Below 1 several partitions are scheduled, which takes so many times as long. `memoryBudget` of compile() sets it.',
  },
  activationMemoryLimit: {
    type: 'int',
    default: null,
    nullable: true,
    min: 1,
    affects: 'code',
    doc: 'The most bytes that a graph may take at its peak, by plan: inputs, results and temporaries. The fastest partition that fits is taken; where none does, that is an error which says what the least is. Symbolic sizes count as 256. `memoryBudget` of compile() sets it, as in 512MB.',
  },
  aggressiveRecomputation: {
    type: 'bool',
    default: false,
    affects: 'code',
    doc: 'Where the budget is below 1, also try partitions in which products, sorts, scans, writes by index and random numbers are computed again wherever the time that it takes is worth the memory, and not only where the budget needs it.',
  },
  customPartitionerFn: {
    type: 'hook',
    default: null,
    nullable: true,
    affects: 'code',
    doc: 'Decides what is kept between forward and backward pass, in the place of the budget: is given the graph and the values of the forward pass, each with its bytes, its operations and whether the backward pass uses it, and gives the numbers of the nodes to keep. Other values are computed again where the backward pass needs them.',
  },
  jointCustomPrePass: {
    type: 'hook',
    default: null,
    nullable: true,
    affects: 'code',
    doc: 'Is given every graph that holds a forward and a backward pass, in primitives, before our passes, and gives the graph to compile: with the same inputs and as many outputs.',
  },
  jointCustomPostPass: {
    type: 'hook',
    default: null,
    nullable: true,
    affects: 'code',
    doc: 'The same after our passes and before the graph is partitioned.',
  },
} as const;
