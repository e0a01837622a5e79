// A pipeline as a value: stages in order, each a named function from what the stage before it makes. A stage whose input is of
// another type than the output before it does not compile. The stages of a pipeline are listed flat, those of pipelines within it
// among them; a run can be watched stage by stage, and a pipeline can be cut after any stage (`upTo`).

/** What a stage makes: how people read it, how much there is of it in a few words, and the laws that it keeps. */
export interface Form<Value> {
  print(value: Value): string;
  summary(value: Value): string;
  /** Throws an error that names the law. */
  verify(value: Value): void;
}

/** What is known of a stage beside its function. */
export interface StageDescription {
  /** Of lower-case words with hyphens; no two stages of a pipeline have one name. */
  readonly name: string;
  /** What it does, after `name:`. */
  readonly doc: string;
}

/** A stage, to whoever watches it run. */
export interface WatchedStage<Out> extends StageDescription {
  readonly makes: Form<Out>;
}

export interface Stage<In, Out, Context> extends WatchedStage<Out> {
  run(input: In, context: Context): Out;
}

/** Stands around every stage of a run: calls `run` once, and gives what it gave. */
export interface Watch {
  around<Out>(stage: WatchedStage<Out>, run: () => Out): Out;
}

/** A stage that takes its input apart: each part goes through stages of its own, when this stage comes to it. */
export interface PartedStage<In, Out, Context, Part, Inner> extends WatchedStage<Out> {
  readonly stages: Cut<Part, Inner>;
  contextOf(context: Context): Inner;
  parts(input: In): readonly Part[];
  run(input: In, context: Context, watch: Watch | undefined): Out;
}

/** The part of a pipeline that listing and cutting need: what it makes is not known. */
export interface Cut<In, Context> {
  readonly stages: readonly StageDescription[];
  /** Runs it, and prints what its last stage makes. */
  print(input: In, context: Context, watch?: Watch): string;
  /** The same pipeline up to and with the stage of that name; undefined where it has none. */
  upTo(name: string): Cut<In, Context> | undefined;
}

export class Pipeline<In, Out, Context> implements Cut<In, Context> {
  readonly stages: readonly StageDescription[];
  readonly #link: Link<In, Out, Context>;

  private constructor(stages: readonly StageDescription[], link: Link<In, Out, Context>) {
    this.stages = stages;
    this.#link = link;
  }

  static of<In, Out, Context>(stage: Stage<In, Out, Context>): Pipeline<In, Out, Context> {
    return new Pipeline<In, Out, Context>([stage], {
      makes: stage.makes,
      run: (input, context, watch) => runStage(stage, input, { context, watch }),
      upTo: () => undefined,
    });
  }

  then<Next>(stage: Stage<Out, Next, Context>): Pipeline<In, Next, Context> {
    return this.#extended([stage], {
      makes: stage.makes,
      run: (input, context, watch) => runStage(stage, this.run(input, context, watch), { context, watch }),
      upTo: () => undefined,
    });
  }

  /** With all stages of `inner`, which take their context from this one's. */
  through<Next, Inner>(
    inner: Pipeline<Out, Next, Inner>,
    contextOf: (context: Context) => Inner,
  ): Pipeline<In, Next, Context> {
    return this.#extended(inner.stages, {
      makes: inner.#link.makes,
      run: (input, context, watch) => inner.run(this.run(input, context, watch), contextOf(context), watch),
      upTo: (name) => {
        const cut = inner.#cut(name);
        return cut === undefined ? undefined : this.through(cut, contextOf);
      },
    });
  }

  /** The same where more is known: for stages that need it to follow. */
  inContext<More extends Context>(): Pipeline<In, Out, More> {
    return new Pipeline<In, Out, More>(this.stages, {
      makes: this.#link.makes,
      run: (input, context, watch) => this.run(input, context, watch),
      upTo: (name) => this.#cut(name)?.inContext(),
    });
  }

  /** With a stage that takes its input apart; the stages of the parts are listed before it. */
  thenEach<Next, Part, Inner>(stage: PartedStage<Out, Next, Context, Part, Inner>): Pipeline<In, Next, Context> {
    return this.#extended([...stage.stages.stages, stage], {
      makes: stage.makes,
      run: (input, context, watch) => {
        const given = this.run(input, context, watch);
        const make = (): Next => stage.run(given, context, watch);
        return watch === undefined ? make() : watch.around(stage, make);
      },
      upTo: (name) => {
        const cut = stage.stages.upTo(name);
        if (cut === undefined) return undefined;
        return this.then({
          name,
          doc: stage.doc,
          makes: texts,
          run: (input, context) => {
            const inner = stage.contextOf(context);
            return stage.parts(input).map((part) => cut.print(part, inner));
          },
        });
      },
    });
  }

  run(input: In, context: Context, watch?: Watch): Out {
    return this.#link.run(input, context, watch);
  }

  print(input: In, context: Context, watch?: Watch): string {
    return this.#link.makes.print(this.run(input, context, watch));
  }

  upTo(name: string): Cut<In, Context> | undefined {
    return this.#cut(name);
  }

  #cut(name: string): Pipeline<In, unknown, Context> | undefined {
    return this.stages.at(-1)?.name === name ? this : this.#link.upTo(name);
  }

  #extended<Next>(stages: readonly StageDescription[], link: Link<In, Next, Context>): Pipeline<In, Next, Context> {
    return new Pipeline<In, Next, Context>([...this.stages, ...stages], {
      ...link,
      upTo: (name) => this.#cut(name) ?? link.upTo(name),
    });
  }
}

interface Running<Context> {
  readonly context: Context;
  readonly watch: Watch | undefined;
}

const runStage = <In, Out, Context>(
  stage: Stage<In, Out, Context>,
  input: In,
  { context, watch }: Running<Context>,
): Out => (watch === undefined ? stage.run(input, context) : watch.around(stage, () => stage.run(input, context)));

/** The last stage, or the last pipeline, with all that is before it. */
interface Link<In, Out, Context> {
  readonly makes: Form<Out>;
  run(input: In, context: Context, watch: Watch | undefined): Out;
  /** Within the last stage or pipeline alone. */
  upTo(name: string): Pipeline<In, unknown, Context> | undefined;
}

const texts: Form<readonly string[]> = {
  print: (all) => all.join('\n'),
  summary: (all) => String(all.length),
  verify: () => undefined,
};
