// Which tests `npm test` takes turns with: they are cut in four parts, and a run has one of them. All other tests are in every run;
// `npm run test:all` has all parts. Pure.

/**
 * Tests of one file that are cut in parts.
 *
 * @typedef {object} Cut
 * @property {string} file the source
 * @property {RegExp} [tests] matches the full titles of the tests that are cut; without it all tests of the file are
 * @property {RegExp} [group] the part of a title that tests with a fixture in common share: such tests are in one part
 * @property {number} [first] the part that the first of them is in, so that files of one or two tests do not all fill part 0
 */

/** @typedef {{ name: string, cuts: readonly Cut[] }} RotatingClass */

export const partCount = 4;

/** @type {readonly RotatingClass[]} */
export const rotating = [
  {
    name: "chaos",
    cuts: [
      { file: "test/chaos/chaos.int.test.ts", group: /\w+(?=: )/ },
      { file: "test/chaos/matrix.int.test.ts", group: /\w+(?=, (undisturbed|killed))/ },
      { file: "test/chaos/mutants.int.test.ts" },
      { file: "test/chaos/late-write.int.test.ts", first: 1 },
      { file: "test/chaos/verification.int.test.ts" },
      { file: "test/chaos/stale-reader.int.test.ts", first: 2 },
      { file: "test/chaos/drain/drain-chaos.int.test.ts", first: 3 },
    ],
  },
  {
    name: "watch chaos",
    cuts: [{ file: "test/chaos/watch/watch-chaos.int.test.ts", first: 2 }],
  },
  {
    name: "AWS chaos",
    cuts: [
      { file: "test/chaos/aws/aws-chaos.int.test.ts", first: 1 },
      { file: "test/inline/aws.int.test.ts", tests: /engine was killed/, first: 3 },
      {
        file: "test/providers/aws/secrets.int.test.ts",
        tests: /killed before the launch/,
        first: 1,
      },
    ],
  },
  {
    name: "examples as their documents tell",
    cuts: [
      { file: "test/docs/examples.int.test.ts", group: /^an example/, first: 1 },
      { file: "test/docs/node-examples.int.test.ts", group: /^an example/, first: 3 },
    ],
  },
  {
    name: "law mutants",
    cuts: [
      { file: "test/plan/refusals/protection.prop.test.ts", tests: /defect in protection/ },
      { file: "test/plan/waves/broken-rollouts.test.ts" },
      { file: "test/sets/broken-rollouts.test.ts", first: 2 },
      { file: "test/transaction/control-plane-versions.test.ts", tests: /see that/ },
      { file: "test/transaction/disruptive.test.ts", tests: /law 19 sees that/ },
      { file: "test/transaction/etcd-care.test.ts", tests: /law 18 sees that/ },
      { file: "test/transaction/half-changed.prop.test.ts", tests: /would/ },
      { file: "test/transaction/held-hosts.prop.test.ts", tests: /would go where/ },
      { file: "test/transaction/outliving.prop.test.ts", tests: /would go where/, first: 3 },
      { file: "test/transaction/records-only.prop.test.ts", tests: /finds/, first: 1 },
    ],
  },
  {
    name: "engine matrices",
    cuts: [
      { file: "test/controller/frozen-leader.int.test.ts", first: 2 },
      { file: "test/controller/watch-faults.int.test.ts" },
      { file: "test/engine/atomic.int.test.ts", first: 1 },
      { file: "test/engine/failing-files.int.test.ts", first: 1 },
      { file: "test/engine/frozen.int.test.ts" },
      { file: "test/engine/full-disk.int.test.ts", first: 2 },
      { file: "test/engine/killed.int.test.ts", first: 2 },
      { file: "test/engine/postgres.int.test.ts" },
      { file: "test/engine/power-loss.int.test.ts", first: 3 },
      { file: "test/inline/turns.int.test.ts", tests: /refused by the plain one/, first: 2 },
      {
        file: "test/inline/user-project.int.test.ts",
        tests: /goes on with|goes back to|taken back|names (the|another)/,
        first: 3,
      },
    ],
  },
  {
    name: "conformance on moto and simulated AWS",
    cuts: [
      { file: "test/provider/ec2/conformance.int.test.ts" },
      { file: "test/providers/aws/conformance.int.test.ts" },
    ],
  },
  {
    name: "kubeadm upgrade, rotation and faults",
    cuts: [
      {
        file: "test/nodes/up.int.test.ts",
        tests: /with other keys|stays Ready when|in place of one whose|finds its disk full/,
      },
      { file: "test/nodes/upgrade.int.test.ts", first: 2 },
    ],
  },
  {
    name: "etcd and drains on this machine",
    cuts: [
      {
        file: "test/providers/local/laptop.int.test.ts",
        tests: /never begins|who keeps them|that drains them is killed/,
        first: 2,
      },
    ],
  },
];

/**
 * @param {string} file
 * @returns {Cut | undefined} undefined for a file that is in every run as a whole
 */
export function cutOf(file) {
  return rotating.flatMap(({ cuts }) => cuts).find((cut) => cut.file === file);
}

/**
 * Deals tests, or groups of tests, to the parts in turns: the parts are even, and a part is known by the order in the source alone.
 *
 * @param {Cut} cut
 * @param {readonly string[]} titles the full ones, in the order of the source
 * @returns {(number | undefined)[]} the part of each; undefined for a test that is in every run
 */
export function partsOf({ tests, group, first = 0 }, titles) {
  /** @type {Map<string, number>} */
  const parts = new Map();
  return titles.map((title, at) => {
    if (tests !== undefined && !tests.test(title)) return undefined;
    const key = group?.exec(title)?.[0] ?? `test ${at}`;
    const part = parts.get(key) ?? (first + parts.size) % partCount;
    parts.set(key, part);
    return part;
  });
}

/**
 * @param {Cut} cut
 * @param {number} count of the tests of its file
 * @param {readonly number[]} parts
 * @returns {number | undefined} how many tests of the file the parts have; undefined where that depends on their titles
 */
export function dueIn({ tests, group, first = 0 }, count, parts) {
  if (tests !== undefined || group !== undefined) return undefined;
  const indexes = Array.from({ length: count }, (_, at) => (first + at) % partCount);
  return indexes.filter((part) => parts.includes(part)).length;
}

/**
 * @param {Readonly<Record<string, { tests: number }>>} floor
 * @param {Readonly<Record<string, { tests: number, registered?: number }>>} reports of the files that ran
 * @returns {string[]} a line for each class that the run had not all tests of
 */
export function notRun(floor, reports) {
  return rotating.flatMap(({ name, cuts }) => {
    const counts = cuts.map(({ file }) => {
      const { tests = 0, registered = floor[file]?.tests ?? 0 } = reports[file] ?? {};
      return { all: registered, left: Math.max(0, registered - tests) };
    });
    const sum = (/** @type {"all" | "left"} */ which) =>
      counts.reduce((total, one) => total + one[which], 0);
    const line = `${name}: ${sum("left")} of ${sum("all")} tests; npm run test:all runs them`;
    return sum("left") > 0 ? [line] : [];
  });
}

/** @returns {string} the table of both tiers in docs/development.md, as prettier formats it */
export function tierTable() {
  const cuts = rotating.flatMap(({ name, cuts }) =>
    cuts.map(({ file, tests }) => [
      name,
      file,
      tests === undefined ? "all" : `that match \`${tests.source.replaceAll("|", "\\|")}\``,
    ]),
  );
  const rows = [["class", "file", "tests that take turns"], ["", "", ""], ...cuts];
  const widths = [0, 1, 2].map((at) => Math.max(...rows.map((row) => (row[at] ?? "").length)));
  const lines = rows.map((row, line) =>
    row.map((cell, at) => cell.padEnd(widths[at] ?? 0, line === 1 ? "-" : " ")).join(" | "),
  );
  return lines.map((line) => `| ${line} |`).join("\n");
}
