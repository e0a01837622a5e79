// Where a function left its graph, and why: each place once, however often it is passed.
import type { SourceLocation } from '@tsinductor/base';
import type { Break } from '../report.ts';

export class BreakLog {
  readonly #breaks: Break[] = [];

  /** Whether this is news. Where the place is known, the reason is not asked. */
  note(reason: string, location: SourceLocation | undefined): boolean {
    const place = location === undefined ? {} : { file: location.file, line: location.line };
    const isKnown = (known: Break): boolean =>
      known.file === place.file && known.line === place.line && (place.file !== undefined || known.reason === reason);
    if (this.#breaks.some(isKnown)) return false;
    this.#breaks.push({ reason, ...place });
    return true;
  }

  list(): readonly Break[] {
    return [...this.#breaks];
  }

  clear(): void {
    this.#breaks.length = 0;
  }
}
