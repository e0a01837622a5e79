// What has to be as it was when a function was traced, beside its guards. In: the numbers and sizes of a call. Out: whether it is.
import type { Point } from './explain-number.ts';

export interface PointCondition {
  readonly text: string;
  readonly isMet: (point: Point) => boolean;
}
