// Tests run on the TypeScript sources: swc strips the types, workspace packages resolve to their `src`.
export default {
  testEnvironment: 'node',
  roots: ['<rootDir>/packages', '<rootDir>/tests'],
  testMatch: ['**/*.test.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '^.+\\.ts$': [
      '<rootDir>/tools/jest-transform.mjs',
      {
        jsc: {
          parser: { syntax: 'typescript', decorators: true },
          target: 'es2022',
          transform: { decoratorVersion: '2023-11' },
        },
        module: { type: 'es6' },
        sourceMaps: 'inline',
      },
    ],
  },
  moduleNameMapper: {
    '^@tsinductor/([a-z-]+)/([a-z-]+)$': '<rootDir>/packages/$1/src/$2.ts',
    '^@tsinductor/([a-z-]+)$': '<rootDir>/packages/$1/src/index.ts',
    '^tsinductor/([a-z-]+)$': '<rootDir>/packages/tsinductor/src/$1.ts',
    '^tsinductor$': '<rootDir>/packages/tsinductor/src/index.ts',
  },
  modulePathIgnorePatterns: ['/dist/', '<rootDir>/benchmarks/peers/'],
  testSequencer: '<rootDir>/tools/jest-sequencer.mjs',
  setupFiles: ['<rootDir>/tools/jest-setup.mjs'],
  // What takes minutes: `npm run test:full` and `npm run structure:native`.
  testPathIgnorePatterns: ['/node_modules/', '-full\\.test\\.ts$', '<rootDir>/tests/structure/native.test.ts'],
  // Tests often wait for a C++ compiler: a worker per core, not one fewer.
  maxWorkers: '100%',
  // Modules of suites that are over stay in a worker's heap, and make every collection dearer: it is begun anew in time.
  workerIdleMemoryLimit: '1GB',
  testTimeout: 60_000,
};
