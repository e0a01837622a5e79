// The pages of the site in their order, as paths within `docs`. tests/docs-site.test.ts holds that each document stands here.
export const groups = [
  {
    title: 'Guide',
    pages: [
      'guide/install.md',
      'guide/tour.md',
      'guide/from-pytorch.md',
      'guide/memory.md',
      'guide/slicing.md',
      'guide/dynamic-shapes.md',
      'guide/captures.md',
      'guide/gradients.md',
      'guide/control-flow.md',
      'guide/modules.md',
      'guide/kernels.md',
      'guide/debugging.md',
      'guide/shipping.md',
    ],
  },
  {
    title: 'Operators',
    pages: [
      'ops.md',
      'ops/creation.md',
      'ops/arithmetic.md',
      'ops/functions.md',
      'ops/activations.md',
      'ops/reductions.md',
      'ops/shapes.md',
      'ops/indexing.md',
      'ops/linear-algebra.md',
      'ops/networks.md',
      'ops/losses.md',
      'ops/aliases.md',
      'ops/definitions.md',
      'ops/accuracy.md',
    ],
  },
  { title: 'Settings and errors', pages: ['settings.md', 'errors.md'] },
  {
    title: 'How it works',
    pages: [
      'architecture.md',
      'notes/packages.md',
      'notes/recording.md',
      'notes/gradients.md',
      'notes/control-flow.md',
      'notes/training.md',
      'notes/custom-ops.md',
      'notes/kernel-language.md',
      'notes/cpu-code.md',
      'notes/memory-traffic.md',
      'notes/cuda.md',
      'notes/native-bridge.md',
      'notes/trust.md',
      'notes/tests.md',
      'dependencies.md',
    ],
  },
];

/** The title of a page: that of its front matter, or its first heading. */
export const titleOf = (text) => (/^---\ntitle: (.*)$/m.exec(text) ?? /^# (.*)$/m.exec(text))?.[1] ?? '';
