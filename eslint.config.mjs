import js from '@eslint/js';
import { defineConfig, globalIgnores } from 'eslint/config';
import prettier from 'eslint-config-prettier';
import rxjsX from 'eslint-plugin-rxjs-x';
import tseslint from 'typescript-eslint';
import noCircles from './scripts/no-circles.mjs';

/**
 * The rooms in their order: each imports only those that stand before it, and the entries at the end nobody. `providers`
 * stands for all of its folders.
 */
const order = [
  ...[
    'audio',
    'core',
    'stream',
    'text',
    'transport',
    'playback',
    'operators',
    'providers',
    'conversation',
    'pipeline',
    'features',
  ],
  ...['endpointing', 'vad', 'testing', 'evaluation', 'react', 'remote', 'proxy', 'opentelemetry', 'nats', 'vendors'],
];
/** What a room does without although it stands before it: the engine knows no provider, and no provider's wire. */
const strangers = {
  conversation: ['transport', 'providers'],
  pipeline: ['transport', 'providers'],
  features: ['transport', 'providers'],
  endpointing: ['audio', 'transport', 'playback', 'operators', 'providers', 'pipeline'],
  vad: ['text', 'transport', 'playback', 'operators', 'providers', 'conversation', 'pipeline', 'endpointing'],
  testing: ['transport', 'providers'],
  evaluation: ['transport', 'providers'],
  react: [
    ...['audio', 'stream', 'text', 'transport', 'operators', 'providers'],
    ...['endpointing', 'vad', 'testing', 'evaluation'],
  ],
  opentelemetry: [
    ...['audio', 'stream', 'text', 'transport', 'playback', 'operators', 'providers', 'features'],
    ...['endpointing', 'vad', 'testing', 'evaluation', 'react', 'remote', 'proxy'],
  ],
  nats: [
    ...[
      'text',
      'transport',
      'playback',
      'operators',
      'providers',
      'pipeline',
      'endpointing',
      'vad',
      'testing',
      'evaluation',
      'react',
    ],
    ...['remote', 'proxy', 'opentelemetry'],
  ],
  remote: ['text', 'operators', 'features', 'endpointing', 'vad', 'testing', 'evaluation', 'react'],
  proxy: [
    ...['audio', 'stream', 'text', 'playback', 'operators', 'providers', 'conversation', 'pipeline', 'features'],
    ...['endpointing', 'vad', 'testing', 'evaluation', 'react', 'remote'],
  ],
};
const rooms = Object.fromEntries(
  order.map((room, index) => [room, [...order.slice(index + 1), ...(strangers[room] ?? [])]]),
);
const providerFolders = ['agent', 'input', 'llm', 'output', 'platform', 'stt', 'tts'];

/** The only providers that the pipeline may load, and only by `import()`. */
const pipelineDefaults = 'input/microphone-input|output/browser-audio-output';

/** Files in which the library meets a runtime. */
const rims = ['lib/transport/websocket-{node,browser}.ts', 'lib/transport/http-{node,fetch}.ts'];
/** Files in which the proxy meets Node's servers. */
const proxyRims = ['lib/proxy/{proxy,node-request,socket-relay}.ts'];

const packages = {
  everywhere: [
    { regex: '^rxvoice(/|$)', message: 'Inside lib, import the file by its relative path.' },
    { regex: '^rxjs/(?!testing$)', message: 'RxJS 7 exports all that we use from its root.' },
  ],
  beyondRims: [
    {
      regex: '^(node:|ws$)',
      message: 'A runtime is met in the rim files of transport only, behind an import condition.',
    },
  ],
  audio: [{ regex: '^rxjs$', message: 'Audio is pure functions and classes on samples.' }],
  beyondReact: [{ regex: '^react(-dom)?(/|$)', message: 'React belongs to rxvoice/react.' }],
  beyondPipeline: [{ regex: '^eventemitter3$', message: 'The callback API belongs to the pipeline.' }],
};
const noIndex = { regex: '^\\.\\.?/(.*/)?index\\.ts$', message: 'Import the file that has it, not an index.' };

const restrictImports = (...patterns) => ({ 'no-restricted-imports': ['error', { patterns: patterns.flat() }] });
const forbid = (room, folders, message) =>
  folders.length === 0
    ? []
    : [{ regex: `^(\\.\\./)+(${folders.join('|')})/`, message: message ?? `${room} may not import this room.` }];

// A file takes the options of its last entry alone, so each entry names all that it needs.
const base = (room) => [
  ...packages.everywhere,
  ...(room === 'audio' ? packages.audio : []),
  ...(room === 'pipeline' ? [] : packages.beyondPipeline),
  ...(room === 'react' ? [] : packages.beyondReact),
  ...forbid(room, rooms[room]),
];
const roomEntries = Object.keys(rooms).flatMap((room) => [
  { files: [`lib/${room}/**/*.ts`], rules: restrictImports(base(room), packages.beyondRims, noIndex) },
  { files: [`lib/${room}/**/index.ts`], rules: restrictImports(base(room), packages.beyondRims) },
]);
const providerEntries = providerFolders.map((folder) => ({
  files: [`lib/providers/${folder}/**/*.ts`],
  rules: restrictImports(
    base('providers'),
    packages.beyondRims,
    noIndex,
    forbid(
      'providers',
      providerFolders.filter((other) => other !== folder),
      "A provider never imports another folder's.",
    ),
  ),
}));

const timeless = 'Time comes from a SchedulerLike.';
const pure = 'A runtime is met in the rim files of transport and in providers only.';

export default defineConfig(
  globalIgnores([
    '**/node_modules',
    'dist',
    'docs/api',
    'site',
    'out',
    'coverage',
    '.cache',
    'create-rxvoice/templates',
  ]),
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  js.configs.recommended,
  {
    files: ['**/*.{js,mjs,cjs}'],
    languageOptions: {
      globals: Object.fromEntries(
        [
          'AbortController',
          'AbortSignal',
          'Buffer',
          'URL',
          'clearInterval',
          'clearTimeout',
          'console',
          'fetch',
          'performance',
          'process',
          'setInterval',
          'setTimeout',
        ].map((name) => [name, 'readonly']),
      ),
    },
  },
  {
    files: ['**/*.{ts,tsx}'],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked, rxjsX.configs.strict],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      // Hooks and defaults that do nothing are a part of the design.
      '@typescript-eslint/no-empty-function': 'off',
      '@typescript-eslint/no-import-type-side-effects': 'error',
      '@typescript-eslint/no-invalid-void-type': ['error', { allowAsThisParameter: true }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', ignoreRestSiblings: true }],
      // isolatedDeclarations wants the annotation that this rule calls needless.
      '@typescript-eslint/no-inferrable-types': 'off',
      'rxjs-x/finnish': [
        'error',
        // Functions from streams to streams have names like operators, wherever they are kept.
        {
          functions: false,
          methods: false,
          strict: true,
          names: {
            '^(answer|consent|convert|hearing|hold|judge|reported|say|score|stage|synthesize|toOutput|transcode|_?vad)$': false,
          },
        },
      ],
      'rxjs-x/no-ignored-subscription': 'error',
    },
  },

  {
    files: ['lib/**/*.ts'],
    plugins: { rxvoice: noCircles },
    rules: {
      'no-console': 'error',
      'max-lines': ['error', 400],
      'rxvoice/no-circles': 'error',
      ...restrictImports(packages.everywhere, packages.beyondRims),
    },
  },
  ...roomEntries,
  ...providerEntries,
  { files: rims, rules: restrictImports(base('transport'), noIndex) },
  { files: proxyRims, rules: restrictImports(base('proxy'), noIndex) },
  {
    files: ['lib/providers/**/*.ts'],
    rules: {
      'no-restricted-syntax': [
        'error',
        {
          selector: 'ImportExpression[source.value=/^[^.#]/]:not(TryStatement > .block ImportExpression)',
          message: 'An optional peer is imported inside try: bundlers refuse one that is absent otherwise.',
        },
      ],
    },
  },
  {
    files: ['lib/pipeline/**/*.ts'],
    rules: {
      'no-restricted-syntax': [
        'error',
        {
          selector: `ImportExpression[source.value=/providers\\u002F(?!(${pipelineDefaults.replaceAll('/', '\\u002F')})[.]ts$)/]`,
          message: 'The pipeline loads no provider but the two defaults.',
        },
      ],
    },
  },
  {
    files: ['lib/{audio,core,stream,text,operators,transport,conversation,pipeline}/**/*.ts'],
    ignores: rims,
    rules: {
      'no-restricted-globals': [
        'error',
        ...['window', 'document', 'navigator', 'process', 'Buffer', 'require'].map((name) => ({ name, message: pure })),
        ...['setTimeout', 'setInterval', 'setImmediate', 'requestAnimationFrame'].map((name) => ({
          name,
          message: timeless,
        })),
      ],
      'no-restricted-properties': [
        'error',
        { object: 'Date', property: 'now', message: timeless },
        { object: 'performance', property: 'now', message: timeless },
      ],
    },
  },

  {
    files: ['__tests__/**/*.ts', 'samples/**/*.{ts,tsx}', 'bench/**/*.ts', 'scripts/**/*.ts'],
    rules: {
      // By code point is what a fixture means.
      '@typescript-eslint/no-misused-spread': ['error', { allow: ['string'] }],
      // A script is a template that its scene is called with.
      '@typescript-eslint/no-unused-expressions': ['error', { allowTaggedTemplates: true }],
      'rxjs-x/finnish': 'off',
      'rxjs-x/no-ignored-subscription': 'off',
      'rxjs-x/no-ignored-error': 'off',
      'rxjs-x/no-exposed-subjects': 'off',
      'rxjs-x/no-ignored-default-value': 'off',
    },
  },
  prettier,
);
