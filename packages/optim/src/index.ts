// Optimisers for functions of tensors, and what goes with them: schedules of the learning rate, clipping of gradients.
export { Adagrad } from './adagrad.ts';
export type { AdagradOptions } from './adagrad.ts';
export { Adam, AdamW } from './adam.ts';
export type { AdamOptions } from './adam.ts';
export type { CommonOptions } from './algorithm.ts';
export { clipGradNorm_, clipGradValue_ } from './clip.ts';
export type { ClipOptions } from './clip.ts';
export { Lion } from './lion.ts';
export type { LionOptions } from './lion.ts';
export { Optimizer } from './optimizer.ts';
export type { Rated } from './optimizer.ts';
export type { ParameterGroup, OptimizerParameters, TensorTree } from './parameter-groups.ts';
export { ReduceOnPlateau } from './plateau.ts';
export type { PlateauOptions } from './plateau.ts';
export { RMSprop } from './rmsprop.ts';
export type { RmspropOptions } from './rmsprop.ts';
export {
  cosine,
  exponentialDecay,
  linear,
  multiStepDecay,
  oneCycle,
  Schedule,
  sequence,
  stepDecay,
} from './schedules.ts';
export type { RateFactor, ScheduleState } from './schedules.ts';
export { SGD } from './sgd.ts';
export type { SgdOptions } from './sgd.ts';
export type { OptimizerState } from './state-dict.ts';
