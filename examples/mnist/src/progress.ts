// How far something is: a bar on a terminal, and lines elsewhere.
import { SingleBar } from 'cli-progress';

export interface Progress {
  /** `done` goes from 0 to 1. */
  readonly update: (done: number, loss: number) => void;
  readonly stop: () => void;
}

/** Redraws a bar on a terminal; elsewhere prints a line at each tenth. */
export function progressOf(name: string): Progress {
  if (!process.stdout.isTTY) {
    let tenths = 0;
    return {
      update: (done, loss) => {
        if (Math.floor(done * 10) <= tenths) return;
        tenths = Math.floor(done * 10);
        console.log(`  ${name}: ${String(tenths * 10)} %, loss ${loss.toFixed(4)}`);
      },
      stop: () => undefined,
    };
  }
  const bar = new SingleBar({ format: `  ${name} {bar} {percentage}% loss {loss}`, hideCursor: true });
  bar.start(1000, 0, { loss: '' });
  return {
    update: (done, loss) => {
      bar.update(Math.round(done * 1000), { loss: loss.toFixed(4) });
    },
    stop: () => {
      bar.stop();
    },
  };
}
