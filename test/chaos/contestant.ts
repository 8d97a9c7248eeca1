import { cpSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { clearFaults } from "../scenario/cloud-faults.js";
import type { Command } from "../scenario/command.js";
import { judge } from "../scenario/ledger-judge.js";
import { repository, Sandbox } from "../scenario/sandbox.js";
import { judgeWanted } from "../scenario/wanted-judge.js";
import { type Boundary, boundaryText, callBoundaries, startUpTo } from "./boundary.js";
import { sampleBy } from "./random.js";
import { exitCodeOf } from "./scene.js";
import { type ChaosTarget, type Targets, targetsOf, wantedMachines } from "./targets.js";
import { stuckWith, type PlaceVerdict, verdictCounts, verdictProblems } from "./verdict.js";

/**
 * The same resources in the same cloud by a plain Pulumi program, killed at the same kinds of
 * boundaries and recovered as Pulumi's manual says: cancel, refresh without pending creates, up.
 */

const stack = "chaos";
const cluster = "default/contestant";

/** What plain Pulumi does between two targets; nothing stands for an empty cloud. */
interface Change {
  readonly name: string;
  readonly from: ChaosTarget;
  readonly to: ChaosTarget;
}

/** The changes that it is killed in. */
const changeNames = ["create", "update", "scale", "shrink", "replace", "destroy"] as const;
export type ChangeName = (typeof changeNames)[number];

export function isChangeName(name: string): name is ChangeName {
  return changeNames.some((one) => one === name);
}

function changesOf({ first, updated, scaled, shrunk, replaced }: Targets) {
  const change = (name: ChangeName, from: ChaosTarget, to: ChaosTarget): Change => ({
    name,
    from,
    to,
  });
  return {
    create: change("create", undefined, first),
    update: change("update", first, updated),
    scale: change("scale", first, scaled),
    shrink: change("shrink", first, shrunk),
    replace: change("replace", first, replaced),
    destroy: change("destroy", first, undefined),
  };
}

/** What became of one kill. */
export interface ContestantResult {
  readonly change: string;
  readonly boundary: Boundary;
  readonly verdict: PlaceVerdict;
}

/** Kills the program at the boundaries of its changes, `points` of them or all, one after another. */
export async function runContestant(
  scenario: string,
  changes: readonly ChangeName[],
  { points, seed }: { readonly points: number | undefined; readonly seed: number },
  tell: (result: ContestantResult) => void,
): Promise<ContestantResult[]> {
  const all = changesOf(targetsOf(scenario));
  const empty = await makeProject();
  const bases = new Map<ChaosTarget, Sandbox>([[undefined, empty]]);
  const results: ContestantResult[] = [];
  try {
    const kills: { readonly change: Change; readonly boundary: Boundary }[] = [];
    for (const name of changes) {
      const change = all[name];
      if (!bases.has(change.from)) bases.set(change.from, await raise(empty, change.from));
      const boundaries = await record(bases.get(change.from) ?? empty, change);
      kills.push(...boundaries.map((boundary) => ({ change, boundary })));
    }
    const drawn = sampleBy(seed, points ?? kills.length, kills, (one) =>
      [one.change.name, boundaryText(one.boundary)].join(" "),
    );
    for (const { change, boundary } of drawn) {
      const verdict = await killAndRecover(bases.get(change.from) ?? empty, change, boundary);
      const result = { change: change.name, boundary, verdict };
      results.push(result);
      tell(result);
    }
    return results;
  } finally {
    for (const sandbox of bases.values()) await sandbox.close();
  }
}

/** "update | after update cp-0 #1 | orphans 1, ... | lost" */
export function contestantLine({ change, boundary, verdict }: ContestantResult): string {
  const isWell = verdictProblems(verdict).length === 0;
  const fields = [change, boundaryText(boundary), verdictCounts(verdict), isWell ? "well" : "LOST"];
  return fields.join(" | ");
}

async function makeProject(): Promise<Sandbox> {
  const sandbox = await Sandbox.make({ machines: {} });
  await sandbox.cloud.clearFaults();
  await beginProject(sandbox, {
    stack,
    program: join(repository, "test", "chaos", "contestant-program"),
  });
  return sandbox;
}

/** A project of a plain Pulumi with its folders and its key, and a stack that is still empty. */
export async function beginProject(
  sandbox: Sandbox,
  { stack: name, program }: { readonly stack: string; readonly program: string },
): Promise<void> {
  for (const folder of ["pulumi", "pulumi-home", "work"]) {
    mkdirSync(join(sandbox.state, folder), { recursive: true });
  }
  writeFileSync(join(sandbox.state, "passphrase"), "chaos");
  const project = projectOf(sandbox);
  cpSync(program, project, { recursive: true });
  symlinkSync(join(repository, "node_modules"), join(project, "node_modules"));
  await sandbox.pulumi(0, ["stack", "init", name], project);
}

/** Where its project is. */
export function projectOf(sandbox: Sandbox): string {
  return join(sandbox.state, "contestant");
}

async function raise(empty: Sandbox, target: ChaosTarget): Promise<Sandbox> {
  const sandbox = empty.copy();
  const command = startChange(sandbox, target);
  const code = await exitCodeOf(command);
  if (code !== 0) throw new Error(`the contestant does not start: ${command.said}`);
  return sandbox;
}

async function record(base: Sandbox, { name, to }: Change): Promise<Boundary[]> {
  const sandbox = base.copy();
  try {
    const begin = sandbox.ledgerEnd();
    const command = startChange(sandbox, to);
    await exitCodeOf(command);
    const problems = verdictProblems(await judgeContestant(sandbox, to));
    if (problems.length === 0) return callBoundaries(sandbox.ledger(begin));
    throw new Error(
      `the contestant's ${name} fails undisturbed: ${problems.join()}${command.said}`,
    );
  } finally {
    await sandbox.close();
  }
}

async function killAndRecover(
  base: Sandbox,
  { to }: Change,
  boundary: Boundary,
): Promise<PlaceVerdict> {
  const sandbox = base.copy();
  try {
    const command = await startUpTo(sandbox, boundary, () => startChange(sandbox, to));
    await command.killTree();
    clearFaults(sandbox.cloudFile);
    const recovery = [
      ["cancel", "--yes", "--stack", stack],
      ["refresh", "--yes", "--skip-preview", "--clear-pending-creates", "--stack", stack],
    ];
    for (const args of recovery) await exitCodeOf(startPulumi(sandbox, args));
    const last = startChange(sandbox, to);
    const code = await exitCodeOf(last);
    if (code !== 0) return stuckWith(`it exits with ${code}: ${last.said}`);
    return await judgeContestant(sandbox, to);
  } finally {
    await sandbox.close();
  }
}

function startChange(sandbox: Sandbox, target: ChaosTarget): Command {
  if (target === undefined) {
    return startPulumi(sandbox, ["destroy", "--yes", "--skip-preview", "--stack", stack]);
  }
  const settings = {
    cluster,
    network: { cidr: "10.0.0.0/16", bootMs: 0 },
    machines: machinesOf(target),
  };
  writeFileSync(join(projectOf(sandbox), "settings.json"), JSON.stringify(settings));
  return startPulumi(sandbox, ["up", "--yes", "--skip-preview", "--stack", stack]);
}

function machinesOf(target: NonNullable<ChaosTarget>) {
  return wantedMachines(target).flatMap(({ name, replicas, fields }) => {
    const names =
      replicas === undefined ? [name] : Array.from({ length: replicas }, (_, i) => `${name}-${i}`);
    return names.map((one) => ({ name: one, spec: fields }));
  });
}

function startPulumi(sandbox: Sandbox, args: readonly string[]): Command {
  const project = projectOf(sandbox);
  return sandbox.startPulumi(args, project, {
    CONTESTANT_CLOUD: join(project, "cloud.cjs"),
    CONTESTANT_CLOUD_MODULE: join(repository, "dist", "providers", "local", "cloud.js"),
    CONTESTANT_CLOUD_FILE: sandbox.cloudFile,
  });
}

async function judgeContestant(sandbox: Sandbox, target: ChaosTarget): Promise<PlaceVerdict> {
  const args = ["stack", "export", "--stack", stack];
  const { stdout } = await sandbox.pulumi(0, args, projectOf(sandbox));
  const { deployment } = JSON.parse(stdout) as { deployment: Parameters<typeof judge>[1] };
  const rows = sandbox.rows();
  const wanted = target === undefined ? [] : wantedMachines(target);
  return {
    ...judge(rows, deployment, "pulumi-nodejs:dynamic:Resource"),
    unwanted: judgeWanted(rows, wanted),
    stuck: [],
    laws: [],
  };
}
