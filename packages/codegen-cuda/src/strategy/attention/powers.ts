// The arithmetic of a softmax in a body: which values are powers, and weights made of them.
import { at } from '@tsinductor/base';
import type { BodyBuilder, Scalar, ScalarId } from '@tsinductor/ir';
import type { PointwiseName } from '@tsinductor/ops';

/** exp(score - shift), the shift being the largest of its row, or 0 in the place of -Infinity. */
export interface Power {
  readonly score: ScalarId;
  readonly isGuarded: boolean;
  /** Below this, the difference is -Infinity. */
  readonly cutoff: number | undefined;
}

export interface Weight {
  readonly power: ScalarId;
  readonly op: 'mul' | 'div';
  readonly factor: ScalarId;
}

export class Powers {
  readonly #builder: BodyBuilder;

  constructor(builder: BodyBuilder) {
    this.#builder = builder;
  }

  /** A value as a power by what is one for its row, rounded once at most. */
  weight(id: ScalarId, isOfColumn: (id: ScalarId) => boolean): Weight | undefined {
    const node = this.#builder.node(id);
    const made = node.kind === 'cast' ? this.#builder.node(node.value) : node;
    if (made.kind !== 'apply' || (made.op !== 'mul' && made.op !== 'div')) return undefined;
    const [left, right] = [at(made.args, 0), at(made.args, 1)];
    const { op } = made;
    if (!isOfColumn(right)) return { power: left, op, factor: right };
    return op === 'mul' && !isOfColumn(left) ? { power: right, op, factor: left } : undefined;
  }

  /** A value as a power; `most` is the largest score of its row. */
  power(id: ScalarId, most: ScalarId): Power | undefined {
    const [given] = this.#operands(id, 'exp') ?? [];
    if (given === undefined) return undefined;
    const [difference, cutoff] = this.#cut(given);
    const [score, shift] = this.#operands(difference, 'sub') ?? [];
    if (score === undefined || shift === undefined) return undefined;
    const isGuarded = shift === this.#guarded(most);
    return isGuarded || shift === most ? { score, isGuarded, cutoff } : undefined;
  }

  /** What a sum of powers that is found with the maximum makes of its states and of a score: maximum and sum, and the sum in the end. */
  joint(score: ScalarId): readonly ScalarId[] {
    const builder = this.#builder;
    const apply = (op: PointwiseName, ...args: readonly ScalarId[]): ScalarId => builder.apply(op, args);
    const number = (value: number): ScalarId => builder.constant(value, 'f32');
    const [most, sum] = [builder.carried(0, 'f32'), builder.carried(1, 'f32')];
    const far = apply('where', apply('eq', most, score), number(0), apply('abs', apply('sub', score, most)));
    const power = apply('exp', apply('neg', far));
    const larger = apply('add', apply('mul', sum, power), number(1));
    const smaller = apply('add', sum, apply('mul', number(1), power));
    const next = apply('where', apply('gt', score, most), larger, smaller);
    return [apply('maximum', most, score), next, apply('add', sum, apply('sub', most, most))];
  }

  /** A difference below a constant that is -Infinity then, and the constant; or the difference alone. */
  #cut(id: ScalarId): readonly [difference: ScalarId, cutoff: number | undefined] {
    const [test, instead, difference] = this.#operands(id, 'where') ?? [];
    const [compared, limit] = test === undefined ? [] : (this.#operands(test, 'lt') ?? []);
    const cutoff = limit === undefined ? undefined : this.#builder.constantOf(limit);
    const isCut = difference !== undefined && compared === difference && instead === this.#infinity();
    return isCut && typeof cutoff === 'number' ? [difference, cutoff] : [id, undefined];
  }

  #guarded(most: ScalarId): ScalarId {
    const builder = this.#builder;
    const isEmpty = builder.apply('eq', [most, this.#infinity()]);
    return builder.apply('where', [isEmpty, builder.constant(0, 'f32'), most]);
  }

  #infinity(): ScalarId {
    return this.#builder.constant(-Infinity, 'f32');
  }

  #operands(id: ScalarId, op: PointwiseName): readonly ScalarId[] | undefined {
    const node: Scalar = this.#builder.node(id);
    return node.kind === 'apply' && node.op === op ? node.args : undefined;
  }
}
