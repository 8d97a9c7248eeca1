import { Argument, type Command, Option } from "commander";
import { leftoverChoices, leftoverDataChoices } from "../../api/leftover-policy.js";
import type { DescribeOptions } from "../commands/describe.js";
import type { DestroyOptions } from "../commands/destroy.js";
import type { DiffOptions } from "../commands/diff.js";
import type { DriftOptions } from "../commands/drift.js";
import type { EnvOptions } from "../commands/env.js";
import type { HistoryOptions } from "../commands/history.js";
import type { PlanOptions } from "../plan-options.js";
import type { RollbackOptions } from "../commands/rollback.js";
import type { StatusOptions } from "../commands/status.js";
import type { UpOptions } from "../commands/up.js";
import { diffFormats, driftFormats, planFormats } from "../../report/formats/format-names.js";
import { changes, does, looks } from "../execute.js";
import {
  wholeNumber,
  withDeadline,
  withExamples,
  withFiles,
  withOverrides,
  withPaths,
  withPlanning,
  withRecursion,
  withRemoval,
  withStateRequired,
  withThaw,
  withTimeout,
  withYes,
} from "./options.js";

/** The verbs that change clusters: plan, up, rollback, destroy. */
export function addChangingVerbs(program: Command): void {
  const plan = withStateRequired(withThaw(withPlanning(withRecursion(program.command("plan")))))
    .addOption(
      new Option("--format <format>", "as text unless given; docs/plans.md tells them").choices(
        planFormats,
      ),
    )
    .option("--out <file>", "save the plan, for up --plan")
    .description("show what up would do; exit 0: nothing, 2: changes pending");
  withExamples(plan, [
    ["capstan plan -f clusters/prod", "one folder of manifests"],
    ["capstan plan -f 'clusters/*'", "every folder that fits"],
    ["capstan plan -f prod --format markdown", "as a comment on a pull request"],
    ["capstan plan -f prod --format html > plan.html", "as a page, with graph and waves"],
    ["capstan plan -f prod.yaml --format json", "for a program"],
    ["capstan plan -f prod --out plan.json", "to have it reviewed, and apply just that"],
  ]);
  looks<PlanOptions>(plan, async ({ options, context }) => {
    const { planCommand } = await import("../commands/plan.js");
    return planCommand(options, context);
  });

  const up = withDeadline(
    withTimeout(withThaw(withPlanning(withYes(withRecursion(program.command("up")))))),
  )
    .option("--plan <file>", "apply a saved plan, if everything is still as it was; does not ask")
    .option("--no-rollback", "keep what exists when something fails, to look at it")
    .option("--certificates <dir>", "keys of your own for a new cluster, as kubeadm lays them out")
    .description("plan, ask, apply; what fails is taken back");
  withExamples(up, [
    ["capstan up -f clusters/prod", "asks before it changes anything"],
    ["capstan up --yes -f clusters/prod", "for scripts"],
    ["capstan up --plan plan.json", "what plan --out has saved, and nothing else"],
    ["kubectl kustomize prod | capstan up --yes -f -", "manifests from another program"],
    [
      "capstan up -f prod --set md/workers:spec.replicas=5",
      "a value that is not the manifests' own",
    ],
  ]);
  does<UpOptions>(up, async ({ options, context }) => {
    const { upCommand } = await import("../commands/up.js");
    return upCommand(options, context);
  });

  const rollback = withRemoval(
    withDeadline(withTimeout(withThaw(withYes(withFiles(program.command("rollback [stack...]")))))),
  )
    .option("--to <revision>", "go to this revision; to the one before without", wholeNumber)
    .description("take an unfinished change back, or go to an earlier revision");
  withExamples(rollback, [
    ["capstan rollback default/prod", "what was begun last is taken back"],
    ["capstan rollback default/prod --to 3", "as revision 3 was; capstan history lists them"],
  ]);
  changes<RollbackOptions>(rollback, async ({ options, context }, stacks: string[]) => {
    const { rollbackCommand } = await import("../commands/rollback.js");
    return rollbackCommand(stacks, options, context);
  });

  addDestroy(program);
}

function addDestroy(program: Command): void {
  const destroy = withTimeout(withThaw(withYes(withFiles(program.command("destroy [stack...]")))))
    .addOption(
      new Option(
        "--leftovers <choice>",
        "what becomes of load balancers and more that controllers in the cluster have made",
      ).choices(leftoverChoices),
    )
    .addOption(
      new Option("--leftover-data <choice>", "the same of volumes that they have made").choices(
        leftoverDataChoices,
      ),
    )
    .description("delete clusters and all their resources; cannot be taken back");
  withExamples(destroy, [
    ["capstan destroy -f clusters/demo", "the clusters of these manifests"],
    ["capstan destroy default/demo", "by name, when the manifests are gone"],
    ["capstan destroy default/demo --leftovers remove", "also what its Services have made"],
  ]);
  changes<DestroyOptions>(destroy, async ({ options, context }, stacks: string[]) => {
    const { destroyCommand } = await import("../commands/destroy.js");
    return destroyCommand(stacks, options, context);
  });
}

/** The verbs that look at clusters: status, describe, history, env. */
export function addLookingVerbs(program: Command): void {
  const status = withStateRequired(withFiles(program.command("status [stack...]"))).description(
    "list machines: what is recorded and what the cloud shows",
  );
  withExamples(status, [
    ["capstan status", "every cluster in the state folder"],
    ["capstan status default/prod --json", "one of them, for a program"],
  ]);
  looks<StatusOptions>(status, async ({ options, context }, stacks: string[]) => {
    const { statusCommand } = await import("../commands/status.js");
    return statusCommand(stacks, options, context);
  });

  const describe = withStateRequired(
    withFiles(program.command("describe [stack|machine/name...]")),
  ).description("show clusters as trees with reasons, or machines in full");
  withExamples(describe, [
    ["capstan describe", "every cluster in the state folder"],
    ["capstan describe default/prod", "one cluster: phases, hosts, drift, what is interrupted"],
    ["capstan describe machine/cp-0", "one machine in full"],
  ]);
  looks<DescribeOptions>(describe, async ({ options, context }, named: string[]) => {
    const { describeCommand } = await import("../commands/describe.js");
    return describeCommand(named, options, context);
  });

  addDrift(program);
  addHistory(program);
  addDiff(program);

  const env = withPaths(program.command("env [stack]")).description(
    "print the exports that a plain pulumi needs, and write a stack's settings file",
  );
  withExamples(env, [
    ['eval "$(capstan env)"', "pulumi and Node.js, for Pulumi projects of your own"],
    ['eval "$(capstan env default/prod)"', "then: pulumi preview --stack default.prod"],
  ]);
  does<EnvOptions>(env, async ({ options, context }, stack?: string) => {
    const { envCommand } = await import("../commands/env.js");
    return envCommand(stack, options, context);
  });
}

function addDrift(program: Command): void {
  const drift = withStateRequired(withFiles(program.command("drift [stack...]")))
    .addOption(
      new Option("--format <format>", "as text unless given; docs/drift.md tells them").choices(
        driftFormats,
      ),
    )
    .description("show what is no longer as recorded; exit 0: nothing, 2: drift");
  withExamples(drift, [
    ["capstan drift", "every cluster in the state folder"],
    ["capstan drift default/prod", "by the policies that were applied"],
    ["capstan drift -f clusters/prod", "by the policies of these manifests"],
    ["capstan drift --format markdown", "as an issue or a job's summary"],
  ]);
  looks<DriftOptions>(drift, async ({ options, context }, stacks: string[]) => {
    const { driftCommand } = await import("../commands/drift.js");
    return driftCommand(stacks, options, context);
  });
}

function addDiff(program: Command): void {
  const diff = withOverrides(program.command("diff <stack|path> <stack|path>"))
    .description("compare two clusters: manifests or stacks; exit 0: the same, 2: they differ")
    .option("--all", "also what has to differ: names, what carries them, generated names")
    .option("--ignore-addresses", "leave out addresses and ranges of addresses")
    .addOption(
      new Option("--format <format>", "how to show it").choices(diffFormats).default("text"),
    );
  withExamples(diff, [
    ["capstan diff clusters/staging clusters/prod", "two folders of manifests"],
    ["capstan diff default/prod clusters/prod", "what runs, and what the folder wants"],
    ["capstan diff default/a default/b --format markdown", "as a comment"],
  ]);
  looks<DiffOptions>(diff, async ({ options, context }, from: string, to: string) => {
    const { diffCommand } = await import("../commands/diff.js");
    return diffCommand([from, to], options, context);
  });
}

const historyVerbs = () => import("../commands/history.js");

function addHistory(program: Command): void {
  const history = withStateRequired(withFiles(program.command("history [stack...]"))).description(
    "list transactions, newest first: who, what, how it ended, and where rollback can go",
  );
  withExamples(history, [
    ["capstan history", "of every cluster in the state folder"],
    ["capstan history show 3 default/prod", "one transaction in full"],
    ["capstan history diff 3 5 default/prod", "what leads from one revision to another"],
  ]);
  looks<HistoryOptions>(history, async ({ options, context }, stacks: string[]) =>
    (await historyVerbs()).historyCommand(stacks, options, context),
  );

  const show = withFiles(history.command("show"))
    .addArgument(new Argument("<number>", "of the transaction").argParser(wholeNumber))
    .argument("[stack]", "which cluster, if there are several")
    .description("show one transaction: times, failure, changes, and the machines it led to");
  withExamples(show, [
    ["capstan history show 4", "of the only cluster"],
    ["capstan history show 4 default/prod --json", "for a program"],
  ]);
  looks<HistoryOptions>(show, async ({ options, context }, number: number, stack?: string) =>
    (await historyVerbs()).historyShowCommand(number, stack, options, context),
  );

  const diff = withFiles(history.command("diff"))
    .addArgument(new Argument("<from>", "number of a revision").argParser(wholeNumber))
    .addArgument(new Argument("<to>", "number of another one").argParser(wholeNumber))
    .argument("[stack]", "which cluster, if there are several")
    .description("compare two revisions: objects, machines; exit 0: the same, 2: they differ");
  withExamples(diff, [
    ["capstan history diff 3 5", "of the only cluster"],
    ["capstan history diff 5 3 default/prod", "what a rollback from 5 to 3 would change"],
  ]);
  looks<HistoryOptions>(
    diff,
    async ({ options, context }, from: number, to: number, stack?: string) =>
      (await historyVerbs()).historyDiffCommand({ from, to }, stack, options, context),
  );
}
