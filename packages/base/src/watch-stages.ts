// Who watches a pipeline run: what checks the laws of everything that stages make, what keeps their texts, what measures their
// times. Each stands around every stage (`Watch`); without one a run costs what its stages cost.
import { stageBrokeLaw } from './errors.ts';
import type { StageDescription, Watch, WatchedStage } from './pipeline.ts';

/** Checks what every stage makes. Throws InternalError STAGE_LAW, which names the stage and the law. */
export const verifying: Watch = {
  around(stage, run) {
    const made = run();
    try {
      stage.makes.verify(made);
    } catch (error) {
      throw stageBrokeLaw(stage.name, error);
    }
    return made;
  },
};

/** All of them, the first outermost. */
export function watchedBy(watches: readonly Watch[]): Watch | undefined {
  const [first, ...others] = watches;
  const inner = others.length === 0 ? undefined : watchedBy(others);
  if (first === undefined || inner === undefined) return first;
  return { around: (stage, run) => first.around(stage, () => inner.around(stage, run)) };
}

/** What a stage made, as text. One that ran for several parts made them all. */
export interface StageText extends StageDescription {
  readonly text: string;
  readonly summary: string;
  /** Whether the text is that of the stage before. */
  readonly isSame: boolean;
}

export class StageTexts implements Watch {
  readonly #texts = new Map<string, StageText>();
  #last: string | undefined;

  /** In the order in which stages came to their end first. */
  list(): readonly StageText[] {
    return [...this.#texts.values()];
  }

  around<Out>({ name, doc, makes }: WatchedStage<Out>, run: () => Out): Out {
    const made = run();
    const before = this.#texts.get(name);
    const text = makes.print(made);
    const summary = makes.summary(made);
    const isSame = text === this.#last;
    this.#last = text;
    const all =
      before === undefined
        ? { text, summary, isSame }
        : { text: `${before.text}\n${text}`, summary: `${before.summary}, ${summary}`, isSame: false };
    this.#texts.set(name, { name, doc, ...all });
    return made;
  }
}

/** The time that a stage took, in milliseconds, without that of stages within it. */
export interface StageTime extends StageDescription {
  readonly milliseconds: number;
}

export class StageTimes implements Watch {
  readonly #now: () => number;
  readonly #times = new Map<string, StageTime>();
  /** Of the stages within the one that runs now. */
  #within = 0;

  /** `now` gives milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  list(): readonly StageTime[] {
    return [...this.#times.values()];
  }

  around<Out>({ name, doc }: WatchedStage<Out>, run: () => Out): Out {
    const outside = this.#within;
    this.#within = 0;
    const start = this.#now();
    const made = run();
    const whole = this.#now() - start;
    const known = this.#times.get(name)?.milliseconds ?? 0;
    this.#times.set(name, { name, doc, milliseconds: known + whole - this.#within });
    this.#within = outside + whole;
    return made;
  }
}
