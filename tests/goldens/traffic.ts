// What kernels ask of memory beyond loads and stores. In: bound kernels. Out: for each its notes, what it prefetches and what it
// writes by non-temporal stores, each line once.
import { Lines } from '@tsinductor/base';
import { bindSchedule } from '@tsinductor/codegen-cpp';
import type { CpuTarget } from '@tsinductor/codegen-cpp';
import { printIndex, visitStatements } from '@tsinductor/ir';
import type { Kernel, Stmt } from '@tsinductor/ir';
import type { GoldenCase } from './golden-case.ts';

export function trafficOf(kernels: readonly Pick<Kernel, 'name' | 'notes' | 'body'>[]): Lines {
  const lines = new Lines();
  for (const { name, notes, body } of kernels) {
    lines.block(
      name,
      () => {
        for (const line of new Set([...notes, ...movesIn(body)])) lines.line(line);
      },
      '',
    );
  }
  return lines;
}

/** The traffic of those cases that have any, with their names. */
export function trafficOfCases(cases: readonly GoldenCase[], target: CpuTarget): string {
  const lines = new Lines();
  for (const { name, schedules } of cases) {
    const kernels = schedules().flatMap((schedule) => bindSchedule(schedule, target));
    const moving = kernels.filter(({ body }) => movesIn(body).length > 0);
    for (const kernel of moving)
      lines
        .line(
          trafficOf([{ ...kernel, name }])
            .toString()
            .trimEnd(),
        )
        .line();
  }
  return lines.toString();
}

function movesIn(body: readonly Stmt[]): readonly string[] {
  const moves: string[] = [];
  visitStatements(body, (statement) => {
    if (statement.kind === 'prefetch') {
      const { buffer, at, intent, into = 'first' } = statement;
      moves.push(`prefetch ${buffer}[${printIndex(at)}] to ${intent}, into the ${into} cache`);
    } else if (statement.kind === 'store' && statement.hint === 'non-temporal')
      moves.push(`non-temporal store to ${statement.access.buffer}[${printIndex(statement.access.at)}]`);
    else if (statement.kind === 'transpose' && statement.hint === 'non-temporal')
      moves.push(`non-temporal stores to ${statement.to.buffer}[${printIndex(statement.to.at)}]`);
  });
  return moves;
}
