// All entries of the operator table, family by family: a new family is a file and a line here.
import type { Entry } from '../define.ts';
import { activationEntries } from './activations.ts';
import { aliasEntries } from './aliases.ts';
import { attentionEntries } from './attention.ts';
import { bagEntries } from './bags.ts';
import { classLossEntries } from './class-losses.ts';
import { ctcLossEntries } from './ctc-loss.ts';
import { convolutionEntries } from './convolution.ts';
import { creationEntries } from './creation.ts';
import { dataPrimitives } from './data-primitives.ts';
import { distinctEntries } from './distinct.ts';
import { dropoutEntries } from './dropout.ts';
import { gradientEntries } from './gradient.ts';
import { gradientMarkEntries } from './gradient-marks.ts';
import { gridSampleEntries } from './grid-sample.ts';
import { indexingEntries } from './indexing.ts';
import { interpolationEntries } from './interpolation.ts';
import { joiningEntries } from './joining.ts';
import { linearAlgebraEntries } from './linear-algebra.ts';
import { lossEntries } from './losses.ts';
import { matmulEntries } from './matmul.ts';
import { normalisationEntries } from './normalisation.ts';
import { normEntries } from './norms.ts';
import { pointwiseEntries } from './pointwise.ts';
import { pointwiseForms } from './pointwise-forms.ts';
import { poolingEntries } from './pooling.ts';
import { productEntries } from './products.ts';
import { rearrangeEntries } from './rearrange.ts';
import { repetitionEntries } from './repetition.ts';
import { reductionEntries, reductionPrimitives } from './reductions.ts';
import { scanEntries } from './scans.ts';
import { searchEntries } from './search.ts';
import { scatterEntries } from './scatter.ts';
import { viewScatterEntries } from './view-scatter.ts';
import { sortPrimitives } from './sort-primitives.ts';
import { sortingEntries } from './sorting.ts';
import { statisticsEntries } from './statistics.ts';
import { viewEntries } from './views.ts';
import { viewPrimitives } from './view-primitives.ts';

export const families: readonly (readonly Entry[])[] = [
  viewPrimitives,
  dataPrimitives,
  reductionPrimitives,
  pointwiseEntries,
  pointwiseForms,
  activationEntries,
  dropoutEntries,
  reductionEntries,
  normEntries,
  normalisationEntries,
  scanEntries,
  viewEntries,
  rearrangeEntries,
  repetitionEntries,
  joiningEntries,
  indexingEntries,
  searchEntries,
  scatterEntries,
  viewScatterEntries,
  matmulEntries,
  productEntries,
  attentionEntries,
  sortPrimitives,
  sortingEntries,
  distinctEntries,
  interpolationEntries,
  gridSampleEntries,
  gradientEntries,
  gradientMarkEntries,
  statisticsEntries,
  bagEntries,
  linearAlgebraEntries,
  convolutionEntries,
  poolingEntries,
  lossEntries,
  classLossEntries,
  ctcLossEntries,
  creationEntries,
  aliasEntries,
];
