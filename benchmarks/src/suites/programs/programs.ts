// All programs of the suite `eager`, by kind.
import { financePrograms } from './finance.ts';
import { linearAlgebraPrograms } from './linear-algebra.ts';
import { pointwisePrograms } from './pointwise.ts';
import type { SizedProgram } from './program.ts';
import { signalPrograms } from './signals.ts';
import { simulationPrograms } from './simulation.ts';
import { tablePrograms } from './tables.ts';

export const programs: readonly SizedProgram[] = [
  ...pointwisePrograms,
  ...financePrograms,
  ...simulationPrograms,
  ...linearAlgebraPrograms,
  ...tablePrograms,
  ...signalPrograms,
];
