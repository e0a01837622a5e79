// Convolutions in float32, image, weight and bias as inputs: ResNet-50's distinct layers with a window of more than one element, some of
// those with one, the depthwise layers of MobileNetV2, and layers of networks for speech.
import { reader, uniform } from '../workload.ts';
import type { Workload } from '../workload.ts';

interface Layer {
  readonly name: string;
  readonly batch?: number;
  readonly channels: number;
  readonly outputs: number;
  /** Of one row: a convolution in one dim. */
  readonly height?: number;
  readonly width: number;
  readonly kernel: number;
  readonly stride?: number;
  readonly padding?: number;
  readonly groups?: number;
}

const square = (side: number, layer: Omit<Layer, 'width' | 'height' | 'name'>, kind: string): Layer => ({
  name: `${kind} ${String(layer.kernel)}x${String(layer.kernel)}, ${String(layer.channels)} to ${String(layer.outputs)} channels, ${String(side)}x${String(side)}${(layer.stride ?? 1) > 1 ? `, stride ${String(layer.stride)}` : ''}${(layer.batch ?? 1) > 1 ? `, batch ${String(layer.batch)}` : ''}`,
  height: side,
  width: side,
  ...layer,
});

const dense = (side: number, channels: number, more: Partial<Layer> = {}): Layer =>
  square(side, { channels, outputs: channels, kernel: 3, padding: 1, ...more }, 'conv');

const depthwise = (side: number, channels: number, stride = 1): Layer =>
  square(side, { channels, outputs: channels, kernel: 3, padding: 1, groups: channels, stride }, 'depthwise');

const pointwise = (side: number, layer: Pick<Layer, 'channels' | 'outputs' | 'stride'>): Layer =>
  square(side, { kernel: 1, ...layer }, 'conv');

const speech = (name: string, layer: Omit<Layer, 'name'>): Layer => ({ name: `speech ${name}`, ...layer });

const layers: readonly Layer[] = [
  square(224, { channels: 3, outputs: 64, kernel: 7, stride: 2, padding: 3 }, 'stem'),
  dense(56, 64),
  dense(56, 128, { stride: 2 }),
  dense(28, 128),
  dense(28, 256, { stride: 2 }),
  dense(14, 256),
  dense(14, 512, { stride: 2 }),
  dense(7, 512),
  dense(56, 64, { batch: 8 }),
  dense(14, 256, { batch: 8 }),
  pointwise(56, { channels: 64, outputs: 256 }),
  pointwise(56, { channels: 256, outputs: 64 }),
  pointwise(56, { channels: 256, outputs: 512, stride: 2 }),
  pointwise(14, { channels: 1024, outputs: 256 }),
  pointwise(7, { channels: 512, outputs: 2048 }),
  square(28, { channels: 1, outputs: 32, kernel: 5, batch: 32 }, 'digits'),
  square(256, { channels: 1, outputs: 1, kernel: 3, padding: 1 }, 'filter'),
  square(64, { channels: 32, outputs: 3, kernel: 3, padding: 1 }, 'to pixels'),
  depthwise(112, 32),
  depthwise(112, 96, 2),
  depthwise(56, 144),
  depthwise(28, 192),
  depthwise(14, 384),
  depthwise(7, 960),
  speech('conv 3 of 80 to 384 channels', { channels: 80, outputs: 384, width: 3000, kernel: 3, padding: 1 }),
  speech('conv 3 of 384 to 384 channels, stride 2', {
    channels: 384,
    outputs: 384,
    width: 3000,
    kernel: 3,
    stride: 2,
    padding: 1,
  }),
  speech('depthwise 31 of 256 channels', {
    channels: 256,
    outputs: 256,
    width: 1000,
    kernel: 31,
    padding: 15,
    groups: 256,
  }),
];

function workload({ name, ...layer }: Layer): Workload {
  const { batch = 1, channels, outputs, height = 1, width, kernel, stride = 1, padding = 0, groups = 1 } = layer;
  const isImage = layer.height !== undefined;
  const inner = channels / groups;
  const tall = isImage ? kernel : 1;
  const rows = isImage ? Math.floor((height + 2 * padding - kernel) / stride) + 1 : 1;
  const columns = Math.floor((width + 2 * padding - kernel) / stride) + 1;
  const image = uniform(batch * channels * height * width, 21);
  const weight = uniform(outputs * inner * tall * kernel, 22);
  const bias = uniform(outputs, 23);
  const [x, w, b] = [reader(image), reader(weight), reader(bias)];
  const element = (channel: number, row: number, column: number): number =>
    row < 0 || row >= height || column < 0 || column >= width ? 0 : x((channel * height + row) * width + column);
  const total = batch * outputs * rows * columns;
  return {
    suite: 'conv',
    name,
    op: 'conv',
    params: { dims: isImage ? 2 : 1, batch, channels, outputs, height, width, kernel, stride, padding, groups },
    inputs: [image, weight, bias],
    outputs: [total],
    work: {
      reads: 1,
      writes: 1,
      streamBytes: 2 * (image.size + weight.size + total),
      flops: 2 * total * inner * tall * kernel,
    },
    reference: (_, index) => {
      const [column, row] = [index % columns, Math.floor(index / columns) % rows];
      const output = Math.floor(index / (columns * rows)) % outputs;
      const image = Math.floor(index / (columns * rows * outputs));
      const first = image * channels + Math.floor(output / (outputs / groups)) * inner;
      let sum = b(output);
      for (let c = 0; c < inner; c += 1)
        for (let i = 0; i < tall; i += 1)
          for (let j = 0; j < kernel; j += 1)
            sum +=
              w(((output * inner + c) * tall + i) * kernel + j) *
              element(first + c, isImage ? row * stride + i - padding : 0, column * stride + j - padding);
      return sum;
    },
    tolerance: 1e-4,
  };
}

export const convWorkloads: readonly Workload[] = layers.map(workload);
