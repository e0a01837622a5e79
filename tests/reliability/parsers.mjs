// Mutated .npy and .safetensors files: each is read, or refused with a code, in time by its length and in memory by its size.
import { decodeNpy, decodeSafetensors, encodeNpy, encodeSafetensors, tensor } from 'tsinductor';
import { randomOf } from './sample.mjs';

const mostMilliseconds = 1000;
const slackBytes = 64 * 2 ** 20;
/** Pieces that headers are made of, put in anywhere. */
const pieces = [
  "'a':True,",
  '(1,',
  "'",
  '{',
  '}',
  '(',
  ')',
  '\\',
  '9'.repeat(30),
  "'shape': (",
  '[[',
  '"a":{',
  ' '.repeat(100),
  '\0',
  'L',
];

export async function run({ count: asked, seed }) {
  const count = asked ?? 100_000;
  // A sample runs beside other work.
  const most = asked === undefined ? mostMilliseconds : 20 * mostMilliseconds;
  const random = randomOf(seed);
  const failures = [];
  const outcomes = { read: 0, refused: 0 };
  let slowest = 0;
  const originals = samples();
  for (let number = 0; number < count; number += 1) {
    const file = mutate(originals[number % originals.length], random);
    for (const decode of [decodeNpy, decodeSafetensors]) {
      const before = process.memoryUsage().arrayBuffers;
      const started = performance.now();
      try {
        decode(file);
        outcomes.read += 1;
      } catch (error) {
        if (error?.name === 'UserError' && typeof error.code === 'string') outcomes.refused += 1;
        else
          failures.push(
            `${decode.name}: ${error?.stack?.slice(0, 200)} for ${Buffer.from(file).toString('base64').slice(0, 400)}`,
          );
      }
      const milliseconds = performance.now() - started;
      const bytes = process.memoryUsage().arrayBuffers - before;
      slowest = Math.max(slowest, milliseconds);
      if (milliseconds > most || bytes > 2 * file.length + slackBytes)
        failures.push(
          `${decode.name}: ${milliseconds} ms, ${bytes} bytes for ${Buffer.from(file).toString('base64').slice(0, 400)}`,
        );
    }
  }
  const line = `${count} files, ${outcomes.read} readings, ${outcomes.refused} refusals, ${failures.length} others, the slowest ${slowest.toFixed(1)} ms`;
  return { line, failures };
}

function samples() {
  const small = tensor(
    [
      [1, 2, 3],
      [4, 5, 6],
    ],
    { dtype: 'f32' },
  );
  const flags = tensor([true, false, true]);
  return [
    encodeNpy(small),
    encodeNpy(flags),
    encodeNpy(tensor(1, { dtype: 'i64' })),
    encodeSafetensors({ small, flags }, { format: 'pt' }),
    encodeSafetensors({ half: tensor([1, 2], { dtype: 'f16' }) }),
  ];
}

function mutate(original, random) {
  let file = Buffer.from(original);
  for (let changes = 1 + random(4); changes > 0; changes -= 1) {
    const at = random(Math.min(file.length, 200) + 1);
    switch (random(5)) {
      case 0:
        file = file.subarray(0, random(file.length + 1));
        break;
      case 1:
        if (at < file.length) file[at] = random(256);
        break;
      case 2: {
        const piece = Buffer.from(
          pieces[random(pieces.length)].repeat(1 + random(random(20) === 0 ? 2000 : 4)),
          'latin1',
        );
        file = withHeaderLength(Buffer.concat([file.subarray(0, at), piece, file.subarray(at)]), piece.length, random);
        break;
      }
      case 3:
        file = Buffer.concat([file.subarray(0, at), file.subarray(Math.min(file.length, at + random(8)))]);
        break;
      default:
        if (at < file.length) file[at] ^= 1 << random(8);
    }
  }
  return new Uint8Array(file);
}

/** Mostly the header is said to be as much longer, so that what was put in is read. */
function withHeaderLength(file, more, random) {
  if (random(4) === 0 || file.length < 16) return file;
  if (file[0] === 0x93) file.writeUInt16LE(Math.min(65_535, file.readUInt16LE(8) + more), 8);
  else file.writeUInt32LE((file.readUInt32LE(0) + more) >>> 0, 0);
  return file;
}
