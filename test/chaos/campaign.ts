import { S3Backend } from "../scenario/s3-server.js";
import { Sandbox, type SandboxOptions } from "../scenario/sandbox.js";
import { attempt, type Job, type Result } from "./attempt.js";
import {
  type Boundary,
  callBoundaries,
  fileBoundaries,
  watchState,
  writeBoundaries,
} from "./boundary.js";
import {
  type Baseline,
  type Operation,
  type OperationName,
  operationsOf,
  startUp,
} from "./operation.js";
import { prepare } from "./disturbance.js";
import { exitCodeOf } from "./recovery.js";
import { stackOf, type Targets, targetsOf } from "./targets.js";
import { judgeReached, verdictProblems } from "./verdict.js";

/** A scenario with the states that its operations start from, made once and copied. */
export class Stage {
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

  async close(): Promise<void> {
    for (const sandbox of this.made.values()) await (await sandbox).close();
  }

  private async make(name: Baseline): Promise<Sandbox> {
    if (name === "nothing") {
      const sandbox = await Sandbox.make({ folder: this.scenario }, this.options());
      // Faults can be set only in a cloud that is there.
      await sandbox.capstan(0, "local", "fault", "--clear");
      return sandbox;
    }
    const before = await this.baseline(name === "first" ? "nothing" : "first");
    const sandbox = before.copy();
    const target = name === "first" ? this.targets.first : this.targets.updated;
    const command = startUp(sandbox, target);
    if ((await exitCodeOf(command)) !== 0) throw new Error(`no baseline ${name}: ${command.said}`);
    return sandbox;
  }
}

/**
 * Runs an operation undisturbed and lists every boundary that it passes: calls, writes to a bucket,
 * and, if they are watched, writes to the state file.
 */
export async function record(
  stage: Stage,
  operation: Operation,
  files: "unwatched" | "watched" = "unwatched",
): Promise<Boundary[]> {
  const sandbox = (await stage.baseline(operation.baseline)).copy();
  try {
    const { undisturbed } = operation;
    await prepare(sandbox, operation);
    const begin = sandbox.ledgerEnd();
    const fileWrites = files === "watched" ? watchState(sandbox) : undefined;
    const command = operation.start(sandbox);
    const code = await exitCodeOf(command);
    fileWrites?.close();
    const verdict = await judgeReached(sandbox, stage.stack, undisturbed.reaches);
    const problems = verdictProblems(verdict);
    if (code !== undisturbed.code || problems.length > 0) {
      throw new Error(
        `${operation.name} does not even work undisturbed, exit ${code}: ${problems.join("; ")}\n${command.said}`,
      );
    }
    const { backend } = sandbox.options;
    const writes = backend instanceof S3Backend ? writeBoundaries(backend.bucket.log) : [];
    const calls = callBoundaries(sandbox.ledger(begin));
    return [...calls, ...writes, ...fileBoundaries(fileWrites?.count ?? 0)];
  } finally {
    await sandbox.close();
  }
}

/** Works jobs off, some side by side, and tells each result as soon as it is there. */
export async function workOff(
  stage: Stage,
  jobs: readonly Job[],
  workers: number,
  tell: (result: Result) => void,
): Promise<Result[]> {
  const results: Result[] = [];
  const queue = jobs.values();
  const work = async () => {
    for (const job of queue) {
      const baseline = await stage.baseline(job.aim.operation.baseline);
      for (const result of await attempt(baseline, stage.stack, job)) {
        results.push(result);
        tell(result);
      }
    }
  };
  await Promise.all(Array.from({ length: workers }, work));
  return results;
}
