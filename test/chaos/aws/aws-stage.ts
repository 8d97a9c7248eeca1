import { join } from "node:path";
import { repository, Sandbox } from "../../scenario/sandbox.js";
import { lastWords } from "../announcement.js";
import type { PointStage } from "../campaign.js";
import type { Recording } from "../jobs.js";
import {
  type Baseline,
  type Operation,
  type OperationName,
  operationsOf,
  startUp,
} from "../operation.js";
import { wordsOfOperation } from "../recovery.js";
import { stackOf, type Targets } from "../targets.js";
import { verdictProblems } from "../verdict.js";
import { awsTargetsOf } from "./aws-targets.js";
import { AwsScene, type Ground, type Saved } from "./aws-scene.js";
import { Simulator } from "./simulator.js";
import { plantStrangers } from "./strangers.js";

/** All operations on AWS. */
export const awsOperationNames: readonly OperationName[] = [
  "create",
  "update",
  "scale",
  "shrink",
  "replace",
  "destroy",
  "rollback",
  "rollbackTo",
  "upgrade",
  "adopt",
  "adoptChanged",
  "roll",
  "members",
  "failing",
  "stillborn",
];

/** Those that are played where hosts are replaced, too. */
export const awsRolloutNames: readonly OperationName[] = [
  "create",
  "roll",
  "members",
  "failing",
  "stillborn",
  "rollback",
  "rollbackTo",
  "destroy",
];

export const awsScenario = join(repository, "test", "chaos", "aws", "scenario");
export const awsRolloutScenario = join(repository, "test", "chaos", "aws", "rollouts");

/** Plays points on simulated accounts, as many at a time as somebody asks for. */
export class AwsStage implements PointStage {
  private readonly grounds: Playground[] = [];
  private readonly free: Playground[] = [];
  private readonly targets: Targets;
  readonly stack: string;
  readonly operations: Record<OperationName, Operation>;

  constructor(scenario: string = awsScenario) {
    this.targets = awsTargetsOf(scenario);
    this.stack = stackOf(this.targets.first);
    this.operations = operationsOf(this.targets, this.stack);
  }

  async sceneOf({ baseline }: Operation): Promise<AwsScene> {
    const ground = this.free.pop() ?? (await this.anotherGround());
    return ground.sceneAt(baseline, () => this.free.push(ground));
  }

  async close(): Promise<void> {
    for (const ground of this.grounds) await ground.close();
  }

  private async anotherGround(): Promise<Playground> {
    const ground = await Playground.make(this.targets, this.stack);
    this.grounds.push(ground);
    return ground;
  }
}

/** One simulator with the states that operations start from: each made once, and put back for each point. */
class Playground {
  private constructor(
    private readonly ground: Ground,
    private readonly targets: Targets,
    private readonly made: Map<Baseline, Saved>,
  ) {}

  static async make(targets: Targets, stack: string): Promise<Playground> {
    const simulator = await Simulator.start();
    await simulator.hosts.begin();
    await plantStrangers(simulator.env);
    await simulator.advance(3_600_000);
    const options = { json: true, env: simulator.hurriedEnv };
    const sandbox = await Sandbox.make({ objects: [] }, options);
    // Makes the folders that a plain pulumi works in.
    await sandbox.cloud.clearFaults();
    const surroundings = await simulator.account();
    const nothing: Saved = { sandbox, snapshot: await simulator.snapshot(), calls: [] };
    const hasSets = targets.first.some(({ kind }) => kind === "MachineDeployment");
    const hostsOfMachine = hasSets ? 2 : 1;
    const ground = { simulator, stack, surroundings, hostsOfMachine } as const;
    return new Playground(ground, targets, new Map([["nothing", nothing]]));
  }

  async sceneAt(name: Baseline, ends: () => void): Promise<AwsScene> {
    return AwsScene.from(this.ground, await this.baseline(name), ends);
  }

  async close(): Promise<void> {
    for (const { sandbox } of this.made.values()) await sandbox.close();
    await this.ground.simulator.close();
  }

  private async baseline(name: Baseline): Promise<Saved> {
    const known = this.made.get(name) ?? (await this.make(name));
    this.made.set(name, known);
    return known;
  }

  private async make(name: Baseline): Promise<Saved> {
    const { first, updated, third } = this.targets;
    switch (name) {
      case "first":
        return this.raise("nothing", first);
      case "updated":
        return this.raise("first", updated);
      case "third":
        return this.raise("updated", third);
      case "lost": {
        const scene = await AwsScene.from(this.ground, await this.baseline("first"));
        scene.sandbox.loseState(this.ground.stack);
        return scene.save();
      }
      default:
        throw new Error(`no account begins ${name}`);
    }
  }

  /** Another baseline brought to a target. */
  private async raise(from: Baseline, target: Targets["first"]): Promise<Saved> {
    const scene = await AwsScene.from(this.ground, await this.baseline(from));
    const { code, said } = await scene.run({
      words: "up",
      leads: "forward",
      start: (sandbox) => startUp(sandbox, target),
    });
    if (code !== 0) throw new Error(`no baseline: ${said}`);
    await this.ground.simulator.advance(3_600_000);
    return scene.save();
  }
}

/** Runs an operation undisturbed and lists every boundary that it passes. */
export async function recordAws(stage: AwsStage, operation: Operation): Promise<Recording> {
  const scene = await stage.sceneOf(operation);
  try {
    const { undisturbed } = operation;
    await scene.prepare(operation);
    const { code, said, from } = await scene.run(wordsOfOperation(operation, stage.stack));
    await scene.clearFaults();
    const boundaries = scene.boundaries(from);
    const verdict = await scene.judge(undisturbed.reaches);
    const wrongCode =
      code === undisturbed.code ? [] : [`it exits with ${code}: ${lastWords(said)}`];
    const problems = [...wrongCode, ...verdictProblems(verdict), ...scene.lawProblems()];
    return { operation, boundaries, problems };
  } finally {
    await scene.close();
  }
}
