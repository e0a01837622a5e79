// Loop programs made by hand, at sizes that meet every rule that depends on them: with odd tails, in the caches, and beyond them.
import { add, int } from '@tsinductor/ir';
import { cases } from '@tsinductor/testing/loops';
import { each, golden } from './each-case.ts';
import type { GoldenCase } from './golden-case.ts';
import { spreadCases } from './spread-cases.ts';

const rows = cases.symbolic('s0', 301);
const columns = cases.symbolic('s1', 77);
const both: ReadonlyMap<string, number> = new Map([...rows.sizes, ...columns.sizes]);

const symbolic: readonly GoldenCase[] = [
  golden('broadcasts s0,s1', () => cases.broadcasts(rows.extent, columns.extent, both)),
  golden('broadcasts s0,76', () => cases.broadcasts(rows.extent, 76, rows.sizes)),
  golden('summed rows,s0,s1', () => cases.summed('rows', [rows.extent, columns.extent], both)),
  golden('summed nothing,s0,900', () => cases.summed('nothing', [rows.extent, 900], rows.sizes)),
  golden('joined 256,s0,s1', () => cases.joined(256, [rows.extent, columns.extent], both)),
  golden('shorter s0,s1', () =>
    cases.shorter([rows.extent, columns.extent], [add(rows.extent, int(3)), add(columns.extent, int(40))], both),
  ),
];

const maps: readonly GoldenCase[] = [
  ...each('broadcasts', cases.broadcasts, [
    [3, 37],
    [2, 16],
    [8, 40],
    [300, 411],
    [300, 412],
    [64, 1024],
    [4096, 64],
    [2048, 1024],
    [4096, 4096],
    [1 << 20, 8],
  ]),
  ...each('sines', cases.sines, [[1000]]),
  ...each('largest', cases.largest, [
    [1 << 24, 1],
    [1 << 24, 2],
    [1 << 24, 3],
    [1 << 20, 2],
  ]),
  ...each('joined', cases.joined, [
    [256, [64, 128]],
    [256, [64, 64]],
    [256, [72, 128]],
    [9, [40, 60]],
    [65536, [512, 512]],
  ]),
  ...each('rotated', cases.rotated, [
    [9, 3],
    [256, 64],
    [256, 512],
    [4096, 64],
    [65536, 64],
    [65532, 64],
    [16384, 1024],
  ]),
  ...each('halved', cases.halved, [
    [512, 512],
    [2048, 512],
    [4096, 512],
    [2048, 1024],
    [4096, 1024],
    [1031, 1040],
  ]),
  ...each('heads', cases.heads, [
    [[2, 8192, 8, 64]],
    [[2, 2048, 8, 256]],
    [[2, 64, 8, 64]],
    [[2, 512, 16, 64]],
    [[8, 512, 16, 64]],
    [[8, 512, 16, 128]],
    [[4, 1000, 12, 80]],
  ]),
  ...each('converted', cases.converted, [
    [1 << 24, 'bf16'],
    [1 << 24, 'f16'],
    [1 << 24, 'f32'],
    [1 << 26, 'i8'],
    [1000, 'u8'],
    [1000, 'f64'],
    [1000, 'i64'],
  ]),
  ...each('dealt', cases.dealt, [[4096], [1 << 24]]),
  ...each('divided', cases.divided, [
    [1000, 255],
    [1000, 3],
    [1000, 4],
  ]),
  ...each('roots', cases.roots, [[1000]]),
  ...each('shorter', cases.shorter, [
    [
      [5, 20],
      [5, 37],
    ],
    [
      [5, 20],
      [9, 20],
    ],
    [
      [3, 17],
      [4, 18],
    ],
    [
      [256, 64],
      [256, 96],
    ],
    [
      [300, 411],
      [333, 411],
    ],
    [
      [130, 63],
      [133, 96],
    ],
    [
      [4096, 4000],
      [4096, 4096],
    ],
  ]),
  ...each('filled', cases.filled, [
    [30, [47, 64]],
    [300, [60, 64]],
    [31, [37, 90]],
    [65536, [960, 1024]],
  ]),
];

const tiles: readonly GoldenCase[] = [
  ...each('transposed', cases.transposed, [
    [19, 35],
    [32, 16],
    [130, 259],
    [256, 256],
    [512, 512],
    [1024, 1024],
    [2048, 2048],
    [4096, 4096],
    [128, 65536],
    [70003, 91],
    [2513, 2531],
  ]),
  ...each('permuted', cases.permuted, [
    [8192, 2560],
    [8192, 3136],
    [16, 1048576],
    [48, 1048576],
    [256, 256],
    [512, 512],
    [1024, 1024],
    [2048, 2048],
    [4096, 4096],
    [4099, 4096],
    [131072, 128],
    [32768, 128],
    [262144, 64],
    [64, 1048576],
    [16384, 1024],
    [8192, 2048],
    [1024, 16, { width: 64 }],
    [16384, 16, { width: 64 }],
    [4096, 8192, { dtype: 'bf16' }],
    [4096, 4096, { dtype: 'f64' }],
    [8192, 8192, { dtype: 'i8' }],
  ]),
];

const reductions: readonly GoldenCase[] = [
  ...each('summed', cases.summed, [
    ...(
      [
        [5, 133],
        [300, 1030],
        [3000, 13],
        [512, 1024],
        [40000, 128],
        [2100, 1024],
        [4096, 256],
        [4096, 1024],
        [64, 8192],
        [1024, 8192],
        [4096, 4096],
        [4096, 65536],
        [512, 2048],
      ] as const
    ).map((shape) => ['rows', shape] as const),
    ...(
      [
        [67, 37],
        [70, 300],
        [203, 2100],
        [512, 1024],
        [1003, 1500],
        [1024, 4096],
        [2103, 1001],
        [4096, 1000],
        [4096, 1024],
        [30000, 20],
        [1024, 1024],
        [16384, 4096],
        [65536, 16],
      ] as const
    ).map((shape) => ['columns', shape] as const),
    ...(
      [
        [3, 50],
        [100, 333],
        [700, 333],
        [1024, 1024],
        [2100, 1024],
        [4096, 1024],
        [4096, 4096],
      ] as const
    ).map((shape) => ['nothing', shape] as const),
  ]),
  ...each('positions', cases.positions, [
    [3, 45],
    [130, 1031],
    [4096, 1024],
    [16384, 1024],
  ]),
  ...each('softmax', cases.softmax, [
    ...(
      [
        [3, 21],
        [20, 1030],
        [70, 1030],
        [1024, 1024],
        [2100, 1024],
        [1024, 8192],
        [4096, 4096],
        [16384, 1024],
        [1024, 16384],
      ] as const
    ).map((shape) => ['rows', shape] as const),
    ...(
      [
        [9, 35],
        [40, 100],
        [70, 530],
        [1024, 1024],
      ] as const
    ).map((shape) => ['columns', shape] as const),
  ]),
  ...each('centred', cases.centred, [
    [65536, 128, 1],
    [512, 16384, 1],
    [1024, 1024, 1],
    [100, 200, 2],
    [4096, 1024, 1],
    [4096, 1024, 2],
    [4096, 1024, 3],
    [16384, 1024, 1],
    [16384, 1024, 2],
    [8192, 1040, 2],
  ]),
  ...each('doubled and summed', cases.doubledAndSummed, [
    ['summed', [1024, 4096]],
    ['twice and summed', [1024, 4096]],
  ]),
];

const scans: readonly GoldenCase[] = [
  ...each('scanned', cases.scanned, [
    [18, 33],
    [3, 5000],
    [130, 259],
    [8192, 1024],
    [1, 131_072],
    [2, 70_001],
    [3, 45_007],
    [1, 1 << 24],
    [18, 33, 'rows, logarithms'],
    [130, 259, 'rows, logarithms'],
    [8192, 1024, 'rows, logarithms'],
    [1024, 8192, 'rows, logarithms'],
    [1, 131_101, 'rows, logarithms'],
    [67, 300, 'columns'],
    [70, 30, 'columns'],
    [1003, 1500, 'columns'],
    [1024, 1024, 'columns'],
    [4096, 1024, 'columns'],
    [4096, 4096, 'columns'],
    [20_011, 7, 'columns'],
    [131_072, 16, 'columns'],
    [131_072, 17, 'columns'],
  ]),
  ...each('scanned products', cases.scannedProducts, [
    [3, 1000],
    [1, 140_003],
    [3, 45_007],
  ]),
  ...each('scanned twice', cases.scannedTwice, [[1, 140_003]]),
  ...each('scanned positions', cases.scannedPositions, [
    [1, 140_003],
    [2, 70_001],
  ]),
  ...each('scanned integers', cases.scannedIntegers, [
    [1, 140_003],
    [2, 0],
  ]),
];

const indexed: readonly GoldenCase[] = [
  ...each('picked', cases.picked, [[7, 20]]),
  ...each('chosen', cases.chosen, [
    ['elements', [4096, 1024, 1500]],
    ['elements', [4096, 1024, 3000]],
    ['elements', [1024, 1024, 1024]],
    ['rows', [255, 1024, 4096]],
    ['rows', [4096, 1024, 4096]],
    ['rows', [4096, 200, 4096]],
    ['rows', [65536, 64, 4096]],
    ['rows', [4096, 1024, 40]],
    ['rows', [16384, 1024, 16384]],
    ['elements', [64, 256, 256]],
    ['elements', [1003, 281, 307]],
    ['elements', [4096, 1024, 1024]],
    ['elements', [4096, 1024, 512]],
    ['elements', [16384, 1024, 1024]],
  ]),
  ...each('added', cases.added, [
    [9, 21, 4],
    [300, 700, 40],
    [2000, 70, 5],
    [1000, 300, 40],
    [600, 300, 40],
    [4096, 1024, 40],
    [16384, 70, 40],
    [16384, 180, 40],
    [16384, 700, 40],
    [8192, 700, 4000],
    [16384, 1024, 64],
  ]),
];

const products: readonly GoldenCase[] = each('product', cases.product, [
  [{ m: 7, n: 37, k: 19 }],
  [{ m: 2, n: 3, k: 4 }],
  [{ m: 9, n: 20, k: 17, transposed: 'both' }],
  [{ m: 2, n: 9, k: 40, transposed: 'b' }],
  [{ m: 30, n: 1, k: 40 }],
  [{ m: 3, n: 5, k: 7, batch: 2, dtype: 'i64' }],
  [{ m: 13, n: 18, k: 21, dtype: 'f16' }],
  [{ m: 131, n: 203, k: 77 }],
  [{ m: 200, n: 330, k: 1100 }],
  [{ m: 200, n: 330, k: 600, transposed: 'both' }],
  [{ m: 500, n: 70, k: 600, transposed: 'a' }],
  [{ m: 1, n: 1000, k: 300 }],
  [{ m: 3, n: 1000, k: 300, transposed: 'b' }],
  [{ m: 33, n: 70, k: 90, batch: 5, dtype: 'f64' }],
  [{ m: 20, n: 70, k: 700, dtype: 'f16' }],
  [{ m: 20, n: 70, k: 90, dtype: 'bf16', transposed: 'b' }],
  [{ m: 40, n: 33, k: 50, dtype: 'i32' }],
  [{ m: 512, n: 512, k: 512, batch: 8 }],
  [{ m: 1024, n: 1024, k: 1024 }],
]);

export const loopCases: readonly GoldenCase[] = [
  ...symbolic,
  ...maps,
  ...spreadCases,
  ...tiles,
  ...reductions,
  ...scans,
  ...indexed,
  ...products,
];
