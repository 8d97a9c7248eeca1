// Where capstan's own time goes: the time line of one command, seen from inside its process, and what
// each of its libraries costs to import.

import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { capstan } from "./contestants.mjs";
import { runToEnd } from "./measure.mjs";
import { median } from "./report.mjs";

/** @typedef {import("./contestants.mjs").Step} Step */

/**
 * What trace.mjs wrote down about one command, and how long it took from outside.
 *
 * @typedef {object} Trace
 * @property {number} preloadedMs
 * @property {{ url: string, ms: number }[]} modules
 * @property {{ args: string[], startMs: number, closeMs: number }[]} children
 * @property {number} exitMs
 * @property {number} wallMs
 */

/** @typedef {{ name: string, ms: number }} Phase */

const root = fileURLToPath(new URL("..", import.meta.url));
const tracer = new URL("trace.mjs", import.meta.url).href;

/** @type {readonly (readonly [Step, string])[]} in their order, with the words of the report */
const profiled = [
  ["up", "up, create"],
  ["planAgain", "plan, no change"],
  ["update", "up, update all in place"],
];

/** What the command line loads, sooner or later. */
const libraries = [
  "commander",
  "picocolors",
  "string-width",
  "wrap-ansi",
  "yaml",
  "typebox",
  "node:sqlite",
  "@grpc/grpc-js",
  "@pulumi/pulumi/proto/provider_pb.js",
  "@pulumi/pulumi/proto/resource_pb.js",
  "@pulumi/pulumi/proto/language_pb.js",
];

/**
 * @param {{ node: string }} tools
 * @param {{ machines: number, repetitions: number, say(text: string): void }} options
 * @returns {Promise<string>} Markdown
 */
export async function profile(tools, { machines, repetitions, say }) {
  /** @type {Map<Step, Trace>[]} */
  const rounds = [];
  for (let repetition = 1; repetition <= repetitions; repetition += 1) {
    say(`profile: n = ${machines}, repetition ${repetition} of ${repetitions}`);
    rounds.push(await tracedRound(tools, machines));
  }
  const timelines = profiled.map(([step, words]) => {
    const traces = rounds.flatMap((round) => round.get(step) ?? []);
    const phases = traces.map(phasesOf);
    return `## ${words}, n = ${machines}\n\n${phaseTable(phases)}\n\n${loaded(traces)}\n`;
  });
  say("profile: imports");
  return `${timelines.join("\n")}\n## Imports, each alone in a fresh process\n\n${await importTable(tools)}\n`;
}

/**
 * @param {{ node: string }} tools
 * @param {number} machines
 * @returns {Promise<Map<Step, Trace>>}
 */
async function tracedRound(tools, machines) {
  const folder = mkdtempSync(join(tmpdir(), "capstan-profile-"));
  try {
    const own = join(folder, "capstan");
    mkdirSync(own);
    const { commands, grow } = await capstan(tools).project(own, machines);
    /** @type {Map<Step, Trace>} */
    const traces = new Map();
    for (const [step] of profiled) {
      if (step === "update") grow();
      const { args, env, ...command } = commands[step];
      const file = join(folder, `${step}.json`);
      const { ms } = await runToEnd({
        ...command,
        args: ["--import", tracer, ...args],
        env: { ...env, CAPSTAN_BENCH_TRACE: file },
      });
      traces.set(step, { ...JSON.parse(readFileSync(file, "utf8")), wallMs: ms });
    }
    return traces;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * The command from start to end without gaps: child processes, and what lies between them.
 *
 * @param {Trace} trace
 */
function phasesOf({ preloadedMs, modules, children, exitMs, wallMs }) {
  /** @type {Phase[]} */
  const phases = [];
  let now = 0;
  const until = (/** @type {number} */ ms, /** @type {string} */ name) => {
    phases.push({ name, ms: ms - now });
    now = ms;
  };
  until(preloadedMs, "Node.js starts");
  const firstChildMs = children[0]?.startMs ?? exitMs;
  const imported = modules.filter(({ ms }) => ms < firstChildMs).at(-1)?.ms ?? preloadedMs;
  until(imported, "modules are loaded");
  for (const { startMs, closeMs, args } of children) {
    until(startMs, "capstan works");
    until(closeMs, `pulumi ${args.filter((arg) => /^[a-z]+$/.test(arg)).join(" ")}`);
  }
  until(exitMs, "capstan works");
  until(wallMs, "processes start and end");
  return phases;
}

/** @param {readonly (readonly Phase[])[]} rounds */
function phaseTable(rounds) {
  const [first = []] = rounds;
  const rows = first.map(({ name }, index) => {
    const values = rounds.flatMap((phases) => phases[index]?.ms ?? []);
    return `| ${name} | ${median(values).toFixed(0)} |`;
  });
  const total = median(rounds.map((phases) => phases.reduce((sum, { ms }) => sum + ms, 0)));
  return ["| phase | ms |", "| --- | --: |", ...rows, `| all | ${total.toFixed(0)} |`].join("\n");
}

/** @param {readonly Trace[]} traces of one step; the first counts */
function loaded([first]) {
  const counts = new Map();
  for (const { url } of first?.modules ?? []) {
    const name = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? "capstan";
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const list = [...counts].sort(([, a], [, b]) => b - a).map(([name, count]) => `${name} ${count}`);
  return `Modules loaded: ${list.join(", ")}.`;
}

/** @param {{ node: string }} tools */
async function importTable({ node }) {
  const rows = [];
  for (const library of libraries) {
    const times = [];
    for (let repetition = 0; repetition < 5; repetition += 1) {
      const { output } = await runToEnd({
        program: node,
        args: ["--input-type=module", "--eval", timedImport(library)],
        cwd: root,
        env: process.env,
      });
      times.push(Number(output));
    }
    rows.push(`| ${library} | ${median(times).toFixed(0)} |`);
  }
  return ["| import | ms |", "| --- | --: |", ...rows].join("\n");
}

/** @param {string} library */
function timedImport(library) {
  return `const started = performance.now();
    await import(${JSON.stringify(library)});
    process.stdout.write(String(performance.now() - started));`;
}
