import { plantNeighbours } from "../scenario/neighbours.js";
import { until } from "../scenario/until.js";
import { S3Backend } from "../scenario/s3-server.js";
import { Sandbox, type SandboxOptions } from "../scenario/sandbox.js";
import { lastWords } from "./announcement.js";
import { attempt, type Job, jobBefore, type Result } from "./attempt.js";
import { callBoundaries, fileBoundaries, watchState, writeBoundaries } from "./boundary.js";
import {
  type Baseline,
  type Operation,
  type OperationName,
  operationsOf,
  startUp,
} from "./operation.js";
import type { Recording } from "./jobs.js";
import { prepare } from "./chaos-fault.js";
import { type NextCommand, wordsOfOperation } from "./recovery.js";
import { LocalScene } from "./local-scene.js";
import { exitCodeOf, type Scene } from "./scene.js";
import { stackOf, type ChaosTarget, type Targets, targetsOf, workerOf } from "./targets.js";
import { verdictProblems } from "./verdict.js";

/** Where the points of a campaign are played. */
export interface PointStage {
  /**
   * One in which nothing of an operation has been typed yet, and that goes on in these ways. Whoever gets it
   * closes it.
   */
  sceneOf(operation: Operation, ways: readonly NextCommand[]): Promise<Scene>;
}

/** A scenario with the states that its operations start from, made once and copied. */
export class ChaosStage implements PointStage {
  private readonly made = new Map<Baseline, Promise<Sandbox>>();
  readonly targets: Targets;
  readonly stack: string;
  readonly operations: Record<OperationName, Operation>;

  constructor(
    private readonly scenario: string,
    /** Makes the sandboxes' options: a command line and a backend other than the usual. */
    private readonly options: () => SandboxOptions = () => ({}),
  ) {
    this.targets = targetsOf(scenario);
    this.stack = stackOf(this.targets.first);
    this.operations = operationsOf(this.targets, this.stack);
  }

  baseline(name: Baseline): Promise<Sandbox> {
    const known = this.made.get(name) ?? this.make(name);
    this.made.set(name, known);
    return known;
  }

  async sceneOf(operation: Operation, ways: readonly NextCommand[]): Promise<LocalScene> {
    const who = bearsNamesakes(operation, ways) ? "namesakes" : "nobody";
    return LocalScene.from(await this.baseline(operation.baseline), this.stack, who);
  }

  async close(): Promise<void> {
    for (const sandbox of this.made.values()) await (await sandbox).close();
  }

  private async make(name: Baseline): Promise<Sandbox> {
    const { targets, stack } = this;
    switch (name) {
      case "nothing":
        return this.makeNothing();
      case "first":
        return this.raise("nothing", targets.first);
      case "updated":
        return this.raise("first", targets.updated);
      case "third":
        return this.raise("updated", targets.third);
      case "lost": {
        const sandbox = (await this.baseline("first")).copy();
        sandbox.loseState(stack);
        return sandbox;
      }
      case "lostAndDead": {
        const sandbox = (await this.baseline("lost")).copy();
        const worker = workerOf(targets.first).metadata.name;
        const host = sandbox
          .alive()
          .filter(({ cluster }) => cluster === stack.replace(".", "/"))
          .find(({ kind, name: host }) => kind === "LocalHost" && host.startsWith(worker));
        await sandbox.cloud.kill(host?.id ?? worker);
        return sandbox;
      }
    }
  }

  private async makeNothing(): Promise<Sandbox> {
    const sandbox = await Sandbox.make(
      { folder: this.scenario },
      { json: true, ...this.options() },
    );
    // Faults can be set only in a cloud that is there.
    await sandbox.cloud.clearFaults();
    await plantNeighbours(sandbox, this.targets.first);
    return running(sandbox);
  }

  /** Another baseline brought to a target. */
  private async raise(from: Baseline, target: NonNullable<ChaosTarget>): Promise<Sandbox> {
    const sandbox = (await this.baseline(from)).copy();
    const command = startUp(sandbox, target);
    if ((await exitCodeOf(command)) !== 0) throw new Error(`no baseline: ${command.said}`);
    return running(sandbox);
  }
}

/**
 * The sandbox, once all hosts of its cloud run: a command line that waits for nobody leaves hosts that boot, and what
 * becomes of those by itself is nothing that a point has done.
 */
async function running(sandbox: Sandbox): Promise<Sandbox> {
  await until("all hosts of a baseline run", () =>
    sandbox.alive().every(({ state }) => state !== "pending"),
  );
  // Whoever looks next has the cloud write down what has happened.
  await sandbox.capstan(0, "local", "machines");
  return sandbox;
}

/**
 * Whether what carries the cluster's name and another UID may be there: a cluster that is made anew or taken over
 * among such would have to ask which of them it is.
 */
function bearsNamesakes({ verb, baseline }: Operation, ways: readonly NextCommand[]): boolean {
  const lives = ["first", "updated", "third"].includes(baseline) && verb !== "destroy";
  return lives && !ways.includes("adopt");
}

/**
 * Runs an operation undisturbed and lists every boundary that it passes: calls, writes to a bucket,
 * and, if they are watched, writes to the state file.
 */
export async function record(
  stage: ChaosStage,
  operation: Operation,
  files: "unwatched" | "watched" = "unwatched",
): Promise<Recording> {
  const scene = await stage.sceneOf(operation, []);
  const { sandbox } = scene;
  try {
    const { undisturbed } = operation;
    await prepare(sandbox, operation);
    const fileWrites = files === "watched" ? watchState(sandbox) : undefined;
    const { code, said, from } = await scene.run(wordsOfOperation(operation, stage.stack));
    fileWrites?.close();
    const verdict = await scene.judge(undisturbed.reaches);
    const wrongCode =
      code === undisturbed.code ? [] : [`it exits with ${code}: ${lastWords(said)}`];
    const { backend } = sandbox.options;
    const writes = backend instanceof S3Backend ? writeBoundaries(backend.bucket.log) : [];
    const calls = callBoundaries(sandbox.ledger(from));
    return {
      operation,
      boundaries: [...calls, ...writes, ...fileBoundaries(fileWrites?.count ?? 0)],
      problems: [...wrongCode, ...verdictProblems(verdict), ...scene.lawProblems()],
    };
  } finally {
    await scene.close();
  }
}

/** One job, where its run comes by. */
async function attemptedSomewhere(stage: PointStage, job: Job): Promise<Result[]> {
  const scene = await stage.sceneOf(job.aim.operation, job.ways);
  const results = await attempt(scene, job);
  const before = jobBefore(job, results);
  return before === undefined ? results : attemptedSomewhere(stage, before);
}

/** Works jobs off, some side by side, and tells each result as soon as it is there. */
export async function workOff(
  stage: PointStage,
  jobs: readonly Job[],
  workers: number,
  tell: (result: Result) => void,
): Promise<Result[]> {
  const results: Result[] = [];
  const queue = jobs.values();
  const work = async () => {
    for (const job of queue) {
      for (const result of await attemptedSomewhere(stage, job)) {
        results.push(result);
        tell(result);
      }
    }
  };
  await Promise.all(Array.from({ length: workers }, work));
  return results;
}
