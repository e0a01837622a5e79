// The lint rules of the house: typescript-eslint's strict and stylistic sets with types, sizes and complexity, and what
// the architecture forbids inside a file. `tests/architecture.test.ts` checks what needs more than one file.
// Types come from one program over all sources (tsconfig.lint.json), so linting needs no build.
import eslint from '@eslint/js';
import tseslint from 'typescript-eslint';

const builtins =
  'Error|TypeError|RangeError|Array|ArrayBuffer|Map|Set|WeakMap|WeakSet|Promise|Date|RegExp|Uint8Array|Float32Array|Float64Array';

const noModuleState = ['Program > VariableDeclaration', 'Program > ExportNamedDeclaration > VariableDeclaration'].map(
  (selector) => ({
    selector: `${selector}[kind="let"]`,
    message: 'Module-level mutable state is a hidden input: pass the value, or own it in an object.',
  }),
);
const namedErrors = {
  selector: `ThrowStatement > NewExpression[callee.name=/^(${builtins})$/]`,
  message: "Throw through a named constructor in the package's errors.ts.",
};
const noEnvironment = {
  selector: 'MemberExpression[object.name="process"][property.name="env"]',
  message: 'Only packages/config/src/resolve.ts reads the environment: take the value from the Config.',
};
const noBuiltinInstanceof = {
  selector: `BinaryExpression[operator="instanceof"][right.name=/^(${builtins})$/]`,
  message:
    "instanceof on builtins breaks across realms and workers: use util.types, Array.isArray, ArrayBuffer.isView or an error's code.",
};
const noDefaultExport = { selector: 'ExportDefaultDeclaration', message: 'Named exports only.' };
const always = [noBuiltinInstanceof, noDefaultExport];

export default tseslint.config(
  {
    ignores: [
      '**/dist/**',
      'packages/tsinductor/lib/**',
      'publish/**',
      '**/node_modules/**',
      'benchmarks/results/**',
      'coverage/**',
      'demo-output/**',
    ],
  },
  eslint.configs.recommended,
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  {
    files: ['**/*.ts', '**/*.mts'],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { project: ['./tsconfig.lint.json'], tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        {
          allowDefaultCaseForExhaustiveSwitch: false,
          considerDefaultExhaustiveForUnions: false,
          requireDefaultForNonUnion: true,
        },
      ],
      '@typescript-eslint/strict-boolean-expressions': ['error', { allowString: false, allowNumber: false }],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/consistent-type-exports': 'error',
      '@typescript-eslint/explicit-module-boundary-types': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      // Index signatures read with brackets are what noPropertyAccessFromIndexSignature asks for.
      '@typescript-eslint/dot-notation': ['error', { allowIndexSignaturePropertyAccess: true }],
      '@typescript-eslint/no-unnecessary-condition': [
        'error',
        { allowConstantLoopConditions: 'only-allowed-literals' },
      ],
      // Types by name in JSON boundaries and key tables: `as const` objects and branded ids need assertions to be made.
      '@typescript-eslint/no-unnecessary-type-parameters': 'off',
      // There are no enums here, and these look at every assignment for one.
      '@typescript-eslint/no-unsafe-enum-assignment': 'off',
      '@typescript-eslint/no-unsafe-enum-comparison': 'off',
      // isolatedDeclarations asks for written types on exports.
      '@typescript-eslint/no-inferrable-types': 'off',
      'max-lines': ['error', { max: 400, skipBlankLines: false, skipComments: false }],
      'max-lines-per-function': ['error', { max: 60 }],
      'max-params': ['error', 3],
      'max-depth': ['error', 4],
      complexity: ['error', { max: 12, variant: 'modified' }],
      eqeqeq: 'error',
      'no-console': 'error',
      'no-eval': 'error',
      'object-shorthand': 'error',
      'prefer-const': 'error',
      'no-restricted-syntax': ['error', ...noModuleState, namedErrors, noEnvironment, ...always],
    },
  },
  // Tables, preludes, generated declarations and the op sources are long lists of short entries.
  {
    files: [
      'packages/*/src/**/prelude/**/*.ts',
      'packages/*/src/**/generated/**/*.ts',
      'packages/ops/src/pointwise/**/*.ts',
    ],
    rules: { 'max-lines': 'off' },
  },
  // Polynomial coefficients are written as they were fitted, with more digits than a double holds.
  { files: ['packages/ops/src/pointwise/**/*.ts'], rules: { 'no-loss-of-precision': 'off' } },
  // Written by `npm run generate`, with one overload for each way to write the arguments.
  {
    files: ['packages/*/src/generated/**/*.ts'],
    rules: { '@typescript-eslint/unified-signatures': 'off' },
  },
  // The one reader of the environment, and the loader, which runs before there are settings.
  {
    files: ['packages/config/src/resolve.ts', 'packages/tsinductor/src/loading/loader.ts'],
    rules: { 'no-restricted-syntax': ['error', ...noModuleState, namedErrors, ...always] },
  },
  // Programs that print.
  { files: ['packages/cli/src/**/*.ts', 'benchmarks/src/**/*.ts', 'examples/**/*.ts'], rules: { 'no-console': 'off' } },
  // Tests tell long stories in one function, and may set what they test.
  {
    files: ['**/*.test.ts', '**/test-support/**/*.ts', 'tests/**/*.ts', 'packages/testing/src/**/*.ts'],
    rules: {
      'max-lines-per-function': 'off',
      'no-console': 'off',
      'no-restricted-syntax': ['error', ...always],
      '@typescript-eslint/unbound-method': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
    },
  },
  {
    files: ['**/*.mjs', '**/*.cjs', '**/*.js'],
    languageOptions: {
      globals: {
        process: 'readonly',
        console: 'readonly',
        URL: 'readonly',
        Buffer: 'readonly',
        setTimeout: 'readonly',
        clearTimeout: 'readonly',
        setImmediate: 'readonly',
        performance: 'readonly',
        globalThis: 'readonly',
      },
    },
    rules: { 'max-lines': ['error', 400] },
  },
);
