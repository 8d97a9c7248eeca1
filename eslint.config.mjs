// Lint rules, and the import rules of the architecture: which folder may know which.

import { existsSync } from "node:fs";
import js from "@eslint/js";
import { defineConfig, globalIgnores } from "eslint/config";
import tseslint from "typescript-eslint";

/** @typedef {Parameters<typeof defineConfig>[0]} Config */

/**
 * Folders of src/ in the order of the way that data takes: each may import itself and those before it.
 * A provider is passed in from the engine on; before it nobody imports one either.
 */
const layers = ["api", "manifest", "graph", "provider", "sets", "workload", "bootstrap"]
  .concat([
    "compile",
    "records",
    "plan",
    "drift",
    "transaction",
    "report",
    "sweep",
    "source",
    "dynamic",
    "engine",
  ])
  .concat(["kube", "controller", "provider-conformance", "inline", "cli"]);

/** What touches nothing: no SDK, no Node module, no clock, no randomness, no environment. */
const pureFolders = ["api", "graph", "sets", "workload", "compile", "records", "plan"].concat([
  "transaction",
  "drift",
  "report",
  "sweep",
]);
const pureFiles = [
  "src/bootstrap/kubeadm/**/*.ts",
  "src/bootstrap/upgrade/**/*.ts",
  ...pureFolders.map((folder) => `src/${folder}/**/*.ts`),
  ...existing("manifest", ["parse", "desired", "diagnostic"]),
  ...existing("kube", ["api-write", "claim", "live-intent", "live-object", "machine-views"]),
  ...existing("kube", ["merge-patch", "projection", "release", "statuses"]),
  ...existing("kube", ["certificate-status", "cluster-secrets"]),
  ...existing("controller", ["cluster-state", "drift-status", "event-messages", "label-counts"]),
  ...existing("controller", ["overwrite-backoff", "progress-view", "terminal-error"]),
  ...existing("provider", ["backoff"]),
];

/**
 * Files of one folder by name. Throws for one that is not there: its rule would hold for nothing.
 *
 * @param {string} folder
 * @param {readonly string[]} names
 */
function existing(folder, names) {
  const paths = names.map((name) => `src/${folder}/${name}.ts`);
  const missing = paths.filter((path) => !existsSync(new URL(path, import.meta.url)));
  if (missing.length > 0) throw new Error(`eslint.config.mjs names ${missing.join(", ")}`);
  return paths;
}

const impureImports = {
  group: [
    "node:*",
    "@kubernetes/*",
    "@pulumi/*",
    "@grpc/*",
    "google-protobuf",
    "google-protobuf/*",
  ],
  message: "A pure folder reaches nothing outside (docs/architecture.md, section 2).",
};

/**
 * Forbids the imports of folders of src/, from wherever in src/ or providers/.
 *
 * @param {readonly string[]} folders
 * @param {string} message
 */
function noImports(folders, message) {
  return { regex: `^(?:\\.\\./)+(?:src/)?(?:${folders.join("|")})/`, message };
}

/**
 * The import rules of one folder.
 *
 * @param {string} folder
 * @param {number} depth
 * @returns {Config[]}
 */
function rulesOf(folder, depth) {
  const later = layers.slice(depth + 1);
  const patterns = [
    ...(later.length > 0
      ? [noImports(later, `src/${folder} comes before: imports point one way.`)]
      : []),
    ...(depth < layers.indexOf("engine") ? [noProviders] : []),
  ];
  const files = pureFiles.filter((file) => file.startsWith(`src/${folder}/`));
  return [
    ...restricted([`src/${folder}/**/*.ts`], patterns),
    ...(files.length > 0 ? restricted(files, [...patterns, impureImports]) : []),
  ];
}

const noProviders = { group: ["**/providers/**"], message: "Providers are given, never imported." };

/**
 * @param {string[]} files
 * @param {object[]} patterns
 * @returns {Config[]}
 */
function restricted(files, patterns) {
  if (patterns.length === 0) return [];
  return [{ files, rules: { "no-restricted-imports": ["error", { patterns }] } }];
}

const importRules = layers.flatMap(rulesOf);

/** @type {Record<string, "readonly">} */
const nodeGlobals = Object.fromEntries(
  ["AbortController", "AbortSignal", "Buffer", "TextDecoder", "URL", "clearTimeout", "console"]
    .concat(["fetch", "process", "setImmediate", "setInterval", "setTimeout", "structuredClone"])
    .concat(["clearInterval", "performance"])
    .map((name) => [name, "readonly"]),
);

/** The compiler looks for fields that a type does not have only where an object is written out. */
const noSpreadLiterals = [
  {
    selector:
      ":matches(SpreadElement, SpreadProperty) > :matches(ObjectExpression, ArrayExpression)",
    message: "Write the fields out: what is spread is not checked for excess.",
  },
];

/** The same where fields may be missing: there is a helper that takes them as they are. */
const noOptionalSpreads = [
  ...noSpreadLiterals,
  {
    selector:
      "ObjectExpression > SpreadElement > :matches(LogicalExpression[operator='&&'], ConditionalExpression) > ObjectExpression",
    message: "Give the fields, undefined ones too, to omitUndefined (src/api/omit-undefined.ts).",
  },
];

/**
 * What the sets of eslint and typescript-eslint leave out.
 *
 * @type {import("eslint").Linter.RulesRecord}
 */
const furtherRules = {
  "array-callback-return": "error",
  eqeqeq: ["error", "always"],
  "no-duplicate-imports": ["error", { allowSeparateTypeImports: true }],
  "no-else-return": "error",
  "no-restricted-syntax": ["error", ...noSpreadLiterals],
  "no-self-compare": "error",
  "no-template-curly-in-string": "error",
  "no-useless-rename": "error",
  "object-shorthand": "error",
};

/** @type {Config} */
const plainJavaScript = {
  files: ["**/*.mjs", "**/*.js"],
  extends: [js.configs.recommended],
  languageOptions: { globals: nodeGlobals },
  rules: { ...furtherRules, "no-var": "error", "prefer-const": "error" },
};

/** @type {Config} */
const typeScript = {
  files: ["**/*.ts"],
  extends: [
    js.configs.recommended,
    tseslint.configs.strictTypeChecked,
    tseslint.configs.stylisticTypeChecked,
  ],
  languageOptions: {
    parserOptions: {
      project: ["./tsconfig.json"],
      tsconfigRootDir: import.meta.dirname,
    },
  },
  rules: {
    ...furtherRules,
    "@typescript-eslint/consistent-type-exports": "error",
    "@typescript-eslint/consistent-type-imports": [
      "error",
      { fixStyle: "inline-type-imports", disallowTypeAnnotations: false },
    ],
    // `return fail(...)` ends what answers nothing early, on one line.
    "@typescript-eslint/no-confusing-void-expression": "off",
    // Members of JSON are taken away by their names.
    "@typescript-eslint/no-dynamic-delete": "off",
    // An empty arrow says that nothing is to be done.
    "@typescript-eslint/no-empty-function": ["error", { allow: ["arrowFunctions"] }],
    "@typescript-eslint/no-unnecessary-condition": ["error", { allowConstantLoopConditions: true }],
    // Numbers read the same in a text as anywhere else.
    "@typescript-eslint/restrict-template-expressions": [
      "error",
      { allowAny: false, allowBoolean: false, allowNullish: false, allowRegExp: false },
    ],
    // A JSON value that has to be text is made so with String(); its schema says that it is one.
    "@typescript-eslint/no-base-to-string": "off",
    "@typescript-eslint/no-unused-vars": [
      "error",
      { argsIgnorePattern: "^_", varsIgnorePattern: "^_" },
    ],
    "@typescript-eslint/prefer-readonly": "error",
    "@typescript-eslint/return-await": ["error", "in-try-catch"],
    "@typescript-eslint/switch-exhaustiveness-check": [
      "error",
      { considerDefaultExhaustiveForUnions: true, requireDefaultForNonUnion: true },
    ],
    // Handlers and port implementations answer promises because their interfaces say so.
    "@typescript-eslint/require-await": "off",
  },
};

/** @type {Config} */
const product = {
  files: ["src/**/*.ts", "providers/**/*.ts", "stacks/**/*.ts"],
  rules: {
    "max-lines": ["error", { max: 450, skipBlankLines: true, skipComments: true }],
    "max-lines-per-function": ["error", { max: 70, skipComments: true }],
    "max-params": ["error", 5],
    "no-console": "error",
    "no-restricted-syntax": ["error", ...noOptionalSpreads],
  },
};

/** @type {Config} */
const pure = {
  files: pureFiles,
  rules: {
    "no-restricted-globals": [
      "error",
      ...["process", "console", "setTimeout", "setInterval", "setImmediate", "fetch", "crypto"].map(
        (name) => ({ name, message: "A pure folder reaches nothing outside." }),
      ),
    ],
    "no-restricted-properties": [
      "error",
      { object: "Date", property: "now", message: "Time is given, never read." },
      { object: "Math", property: "random", message: "Randomness is given, never drawn." },
    ],
    "no-restricted-syntax": [
      "error",
      ...noOptionalSpreads,
      {
        selector: "NewExpression[callee.name='Date'][arguments.length=0]",
        message: "Time is given, never read.",
      },
      { selector: "ImportExpression", message: "A pure folder loads nothing at run time." },
    ],
  },
};

const noLaterLayers = noImports(
  layers.filter((folder) => !["api", "graph", "provider"].includes(folder)),
  "A provider knows src/provider, src/api and src/graph only.",
);

/** Each is the other's judge: what both had from one place, both would have wrong. */
const noSimulator = {
  group: ["**/sim/**"],
  message: "No provider knows the simulated clouds that it is tested on.",
};
const noJudged = [
  {
    regex: "^(?:\\.\\./)+(?:providers/)?(?:aws|gcp|local)/",
    message: "A simulated cloud knows nothing of those that it judges, and its core no front.",
  },
  { group: ["@aws-sdk/*", "@smithy/*"], message: "The simulator's wire format is its own." },
];

/** What runs on a host of processes makes a node of it, as an image would: with the keys of src/bootstrap. */
const noLaterThanBootstrap = noImports(
  layers.slice(layers.indexOf("bootstrap") + 1).concat(["manifest", "sets", "workload"]),
  "A host of processes knows src/bootstrap, src/provider, src/api and src/graph only.",
);

/** @type {Config[]} */
const providers = [
  restricted(["providers/*/**/*.ts"], [noLaterLayers, noSimulator]),
  restricted(["providers/local/nodes/**/*.ts"], [noLaterThanBootstrap, noSimulator]),
  restricted(["providers/sim/**/*.ts"], [noLaterLayers, ...noJudged]),
].flat();

/** @type {Config} */
const tests = {
  files: ["test/**/*.ts"],
  rules: {
    "max-lines": ["error", { max: 800 }],
    // `describe` and `it` of mocha answer promises to nobody; assertions narrow what they check.
    "@typescript-eslint/no-unnecessary-condition": "off",
    "@typescript-eslint/no-non-null-assertion": "off",
    // Stubs put a method of their own around the one that was there.
    "@typescript-eslint/unbound-method": "off",
    // The Kubernetes client declares classes for what it takes and gives as plain objects.
    "@typescript-eslint/no-unsafe-class-instance-assignment": "off",
    // Colours on a terminal are control characters.
    "no-control-regex": "off",
    // A text with "undefined" in it fails the test that expects another one.
    "@typescript-eslint/restrict-template-expressions": ["error", { allowNullish: true }],
  },
};

/** @type {Config} */
const laws = {
  files: ["test/**/*.ts"],
  ignores: ["test/support/laws.ts"],
  rules: {
    "no-restricted-properties": [
      "error",
      {
        object: "fc",
        property: "assert",
        message: "assertLaw draws from CAPSTAN_SEED, so that a failure can be repeated.",
      },
    ],
  },
};

export default defineConfig(
  globalIgnores(["**/node_modules/", "dist/", "coverage/", "**/.capstan/", ".setup/"]),
  { linterOptions: { reportUnusedDisableDirectives: "error" } },
  plainJavaScript,
  typeScript,
  product,
  ...importRules,
  pure,
  ...providers,
  tests,
  laws,
);
