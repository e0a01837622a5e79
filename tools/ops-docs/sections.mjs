// The pages of the operator reference, and which operators stand on each. In: the families of the operator table, as the modules
// that define them. Out: pages of sections of operators. Every public operator stands in one section.
import { operators } from '@tsinductor/graph';

/** Families of the operator table: packages/graph/src/operators. */
const families = (...files) => ({ folder: 'graph/dist/operators', files });
/** Families of the pointwise table: packages/ops/src/pointwise. */
const pointwise = (...files) => ({ folder: 'ops/dist/pointwise', files });

/** Operators that are looked up elsewhere than where their family stands. */
const moved = {
  flip: 'Rearranging',
  cat: 'Joining and splitting',
  indexSelect: 'Indexing',
  bmm: 'Matrix products',
  logit: 'Special functions',
  mvlgamma: 'Special functions',
  polygamma: 'Special functions',
  gradient: 'Scans and differences',
};

/** A section of a family by kind: what makes tensors, and what copies or converts one. */
const ofKind = (kind, isIt) => (operator) => (operator.kind === kind) === isIt;

const pages = [
  {
    name: 'creation',
    title: 'Creation, dtypes and copies',
    sections: [
      ['Creation', families('creation'), ofKind('creation', true)],
      ['Dtypes and copies', families('creation'), ofKind('creation', false)],
    ],
  },
  {
    name: 'arithmetic',
    title: 'Arithmetic, comparison and bits',
    sections: [
      ['Arithmetic', pointwise('arithmetic', 'float-parts', 'neighbour')],
      ['Largest and smallest of two', pointwise('extrema')],
      ['Comparison and logic', pointwise('comparison')],
      ['Rounding', pointwise('rounding')],
      ['Bits', pointwise('bitwise')],
      ['Forms with more arguments', families('pointwise-forms')],
    ],
  },
  {
    name: 'functions',
    title: 'Mathematical functions',
    sections: [
      ['Exponentials, logarithms and powers', pointwise('exponential', 'power')],
      ['Trigonometry', pointwise('trigonometric', 'hyperbolic')],
      [
        'Special functions',
        pointwise('error-function', 'normal-tail', 'quantile', 'gamma', 'incomplete-gamma', 'zeta', 'bessel'),
      ],
    ],
  },
  {
    name: 'activations',
    title: 'Activations and dropout',
    sections: [
      ['Activations', pointwise('activation')],
      ['Activations with parameters', families('activations')],
      ['Dropout of elements and channels', families('dropout')],
    ],
  },
  {
    name: 'reductions',
    title: 'Reductions, norms and scans',
    sections: [
      ['Reductions', families('reductions')],
      ['Norms and distances', families('norms')],
      ['Scans and differences', families('scans', 'gradient')],
      ['Statistics', families('statistics')],
    ],
  },
  {
    name: 'shapes',
    title: 'Views, joining and rearranging',
    sections: [
      ['Views', families('view-primitives', 'views', 'gradient-marks')],
      ['Joining and splitting', families('joining')],
      ['Rearranging', families('rearrange')],
      ['Repetition', families('repetition')],
    ],
  },
  {
    name: 'indexing',
    title: 'Indexing, sorting and searching',
    sections: [
      ['Indexing', families('indexing')],
      ['Writing by index', families('scatter', 'view-scatter')],
      ['Sorting and selecting', families('sorting', 'distinct')],
      ['Searching', families('search')],
    ],
  },
  {
    name: 'linear-algebra',
    title: 'Matrix products and linear algebra',
    sections: [
      ['Matrix products', families('matmul')],
      ['Products of several kinds', families('products')],
      ['Attention', families('attention')],
      ['Linear algebra', families('linear-algebra')],
    ],
  },
  {
    name: 'networks',
    title: 'Neural networks',
    sections: [
      ['Softmax and normalisation', families('normalisation')],
      ['Convolution', families('convolution')],
      ['Pooling', families('pooling')],
      ['Resampling', families('interpolation', 'grid-sample')],
      ['Bags and segments', families('bags')],
    ],
  },
  {
    name: 'losses',
    title: 'Losses',
    sections: [
      ['Regression and pairs', families('losses')],
      ['Classes', families('class-losses', 'ctc-loss')],
    ],
  },
  {
    name: 'aliases',
    title: 'Other names',
    sections: [['Other names', families('aliases')]],
  },
];

/** The names that modules define: of families lists of entries, of the pointwise table an export for each op. */
async function namesIn({ folder, files }) {
  const modules = await Promise.all(files.map((file) => import(`../../packages/${folder}/${file}.js`)));
  const lists = modules.flatMap((module) => Object.values(module).filter(Array.isArray)).flat();
  return new Set(lists.length > 0 ? lists.map(({ name }) => name) : modules.flatMap(Object.keys));
}

const ascending = ({ name: a }, { name: b }) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1);

/** Pages with their sections and operators: an operator stands in the first section that has its name. Throws where none has it. */
export async function operatorPages() {
  const left = new Set([...operators.values()].filter(({ torch }) => torch.length > 0));
  const filled = [];
  for (const page of pages) {
    const sections = [];
    for (const [title, from, isMember = () => true] of page.sections) {
      const names = await namesIn(from);
      const members = [...left].filter((operator) => {
        const elsewhere = moved[operator.name];
        return elsewhere === undefined ? names.has(operator.name) && isMember(operator) : elsewhere === title;
      });
      for (const member of members) left.delete(member);
      sections.push({ title, operators: members.sort(ascending) });
    }
    filled.push({ ...page, sections });
  }
  if (left.size > 0)
    throw new Error(`in no section of tools/ops-docs/sections.mjs: ${[...left].map(({ name }) => name).join(', ')}`);
  return filled;
}
