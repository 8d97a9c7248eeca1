import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "../../scenario/command.js";
import { repository, Sandbox } from "../../scenario/sandbox.js";
import { type Boundary, boundaryText, isMutating } from "../boundary.js";
import { beginProject, type ContestantResult, projectOf } from "../contestant.js";
import { sampleBy } from "../random.js";
import { exitCodeOf } from "../scene.js";
import { type PlaceVerdict, stuckWith, verdictProblems } from "../verdict.js";
import type { AccountTables } from "./account.js";
import { awsBoundaries, startHeldAt } from "./aws-boundary.js";
import { judgeAccount } from "./aws-judge.js";
import { Simulator, type SimulatorSnapshot } from "./simulator.js";
import { plantStrangers } from "./strangers.js";

/**
 * The same kinds of resources on the same simulated AWS by a plain Pulumi program that calls the SDK of AWS, killed at the same kinds of
 * boundaries and recovered as Pulumi's manual says: cancel, refresh without pending creates, up.
 */

const stack = "chaos";
const cluster = "default/contestant";
const deadlineMs = 240_000;

/** What the program is asked for; nothing for an empty account. */
type Settings =
  | {
      readonly ranges: readonly string[];
      readonly volumes: readonly {
        readonly name: string;
        readonly device: string;
        readonly gib: number;
      }[];
    }
  | undefined;

const backup = { name: "backup", device: "/dev/sdf", gib: 10 };
const first: Settings = { ranges: ["0.0.0.0/0"], volumes: [backup] };
const second: Settings = {
  ranges: ["192.0.2.0/24", "198.51.100.0/24"],
  volumes: [backup, { ...backup, name: "more", device: "/dev/sdg" }],
};

const changes: readonly {
  readonly name: string;
  readonly from: Settings;
  readonly to: Settings;
}[] = [
  { name: "create", from: undefined, to: first },
  { name: "update", from: first, to: second },
  { name: "destroy", from: first, to: undefined },
];

interface Base {
  readonly sandbox: Sandbox;
  readonly snapshot: SimulatorSnapshot;
}

/** Kills the program at calls that change something, `points` of them or all, as many of each change, one after another. */
export async function runAwsContestant(
  { points, seed }: { readonly points: number | undefined; readonly seed: number },
  tell: (result: ContestantResult) => void,
): Promise<ContestantResult[]> {
  const simulator = await Simulator.start();
  await plantStrangers(simulator.env);
  await simulator.advance(3_600_000);
  const contest = new Contest(simulator, await simulator.account());
  try {
    const results: ContestantResult[] = [];
    for (const { name, from, to } of changes) {
      const boundaries = await contest.record(name, from, to);
      const share = points === undefined ? boundaries.length : Math.ceil(points / changes.length);
      for (const boundary of sampleBy(seed, share, boundaries, boundaryText)) {
        const verdict = await contest.kill(from, to, boundary);
        const result = { change: name, boundary, verdict };
        results.push(result);
        tell(result);
      }
    }
    return results;
  } finally {
    await contest.close();
  }
}

class Contest {
  private readonly bases = new Map<Settings, Promise<Base>>();

  constructor(
    private readonly simulator: Simulator,
    private readonly surroundings: AccountTables,
  ) {}

  /** The boundaries of a change that nobody disturbs. Throws when it fails. */
  async record(name: string, from: Settings, to: Settings): Promise<Boundary[]> {
    return this.at(from, async (sandbox) => {
      const begin = await this.simulator.ledgerEnd();
      const command = this.start(sandbox, to);
      await exitCodeOf(command, deadlineMs);
      const problems = verdictProblems(await this.judge(sandbox));
      if (problems.length > 0)
        throw new Error(`the contestant's ${name} fails: ${problems.join()}${command.said}`);
      return awsBoundaries(await this.simulator.ledger(begin)).filter(isMutating);
    });
  }

  async kill(from: Settings, to: Settings, boundary: Boundary): Promise<PlaceVerdict> {
    return this.at(from, async (sandbox) => {
      const { simulator } = this;
      const { command } = await startHeldAt(simulator, boundary, () => this.start(sandbox, to));
      await command.killTree();
      await simulator.clearFaults();
      await simulator.release(boundary.side === "before" ? "cut" : "go");
      const recovery = [
        ["cancel", "--yes", "--stack", stack],
        ["refresh", "--yes", "--skip-preview", "--clear-pending-creates", "--stack", stack],
      ];
      for (const args of recovery) await exitCodeOf(this.pulumi(sandbox, args), deadlineMs);
      const last = this.start(sandbox, to);
      const code = await exitCodeOf(last, deadlineMs);
      const verdict = await this.judge(sandbox);
      if (code === 0) return verdict;
      return { ...verdict, stuck: stuckWith(`it exits with ${code}: ${last.said}`).stuck };
    });
  }

  async close(): Promise<void> {
    for (const base of this.bases.values()) await (await base).sandbox.close();
    await this.simulator.close();
  }

  /** Does something where the program has been brought to some settings. */
  private async at<T>(settings: Settings, work: (sandbox: Sandbox) => Promise<T>): Promise<T> {
    const known = this.bases.get(settings) ?? this.make(settings);
    this.bases.set(settings, known);
    const { sandbox: base, snapshot } = await known;
    await this.simulator.restore(snapshot);
    const sandbox = base.copy();
    try {
      return await work(sandbox);
    } finally {
      await sandbox.close();
    }
  }

  private async make(settings: Settings): Promise<Base> {
    if (settings === undefined) {
      const sandbox = await this.makeProject();
      return { sandbox, snapshot: await this.simulator.snapshot() };
    }
    return this.at(undefined, async (empty) => {
      const command = this.start(empty, settings);
      const code = await exitCodeOf(command, deadlineMs);
      if (code !== 0) throw new Error(`the contestant does not start: ${command.said}`);
      return { sandbox: empty.copy(), snapshot: await this.simulator.snapshot() };
    });
  }

  private async makeProject(): Promise<Sandbox> {
    const sandbox = await Sandbox.make({ objects: [] });
    const program = join(repository, "test", "chaos", "aws", "contestant-program");
    await beginProject(sandbox, { stack, program });
    return sandbox;
  }

  private start(sandbox: Sandbox, settings: Settings): Command {
    if (settings === undefined) {
      return this.pulumi(sandbox, ["destroy", "--yes", "--skip-preview", "--stack", stack]);
    }
    const text = JSON.stringify({ cluster, ...settings });
    writeFileSync(join(projectOf(sandbox), "settings.json"), text);
    return this.pulumi(sandbox, ["up", "--yes", "--skip-preview", "--stack", stack]);
  }

  private pulumi(sandbox: Sandbox, args: readonly string[]): Command {
    const project = projectOf(sandbox);
    const cloud = { CONTESTANT_CLOUD: join(project, "aws.cjs") };
    return sandbox.startPulumi(args, project, { ...this.simulator.env, ...cloud });
  }

  private async judge(sandbox: Sandbox): Promise<PlaceVerdict> {
    await this.simulator.advance(2 * 3_600_000);
    const account = await this.simulator.account();
    const args = ["stack", "export", "--stack", stack];
    const { stdout } = await sandbox.pulumi(0, args, projectOf(sandbox));
    const { deployment } = JSON.parse(stdout) as {
      readonly deployment: Parameters<typeof judgeAccount>[0]["deployment"];
    };
    const { surroundings } = this;
    const types = "pulumi-nodejs:dynamic:Resource";
    const judgement = judgeAccount({ surroundings, account, deployment, cluster, types });
    return { ...judgement, unwanted: [], stuck: [], laws: [] };
  }
}
