import type { Command } from "commander";
import type { StateForgetOptions } from "../commands/state-forget.js";
import type { StateMoveOptions } from "../commands/state-move.js";
import type { StateOptions } from "../commands/state.js";
import type { UnlockOptions } from "../commands/unlock.js";
import type { GlobalOptions } from "../context.js";
import { changes, looks } from "../execute.js";
import {
  withDeadline,
  withExamples,
  withFiles,
  withRecursion,
  withRemoval,
  withStateRequired,
  withThaw,
  withTimeout,
  withYes,
} from "./options.js";

/** capstan unlock: for when nobody but a person can know that whoever works on a stack is gone. */
export function addUnlockVerb(program: Command): void {
  const unlock = withYes(program.command("unlock"))
    .argument("<stack>", "which cluster")
    .description(
      "show who has locked a stack, and remove the locks of those who are gone for good",
    );
  withExamples(unlock, [["capstan unlock default/prod", "shows who works on it, and asks"]]);
  changes<UnlockOptions>(unlock, async ({ options, context }, stack: string) => {
    const { unlockCommand } = await import("../commands/unlock.js");
    return unlockCommand(stack, options, context);
  });
}

/** capstan state: what is recorded, and whose it is. */
export function addStateVerbs(program: Command): void {
  const state = program
    .command("state")
    .description("what is recorded: list it, show it, give machines to another pool, let them go");
  withExamples(state, [
    ["capstan state list", "what is recorded"],
    ["capstan state move -f prod md/workers md/general", "a pool was renamed in the manifests"],
    ["capstan state forget default/prod Machine/db-0", "its host runs on and is nobody's"],
  ]);
  addList(state);
  addShow(state);
  addMove(state);
  addForget(state);
}

function addForget(state: Command): void {
  const forget = withTimeout(withRemoval(withYes(state.command("forget"))))
    .argument("<stack>", "which cluster")
    .argument("<machine>", "as state list names it, e.g. Machine/web-0")
    .description("take our marks off a machine's host and forget it: it runs on and is nobody's");
  withExamples(forget, [
    ["capstan state forget default/prod Machine/db-0", "shows the plan and asks"],
    ["capstan state forget default/prod Machine/db-0 --yes", "for scripts"],
  ]);
  changes<StateForgetOptions>(
    forget,
    async ({ options, context }, stack: string, machine: string) => {
      const { stateForgetCommand } = await import("../commands/state-forget.js");
      return stateForgetCommand(stack, machine, options, context);
    },
  );
}

const readingVerbs = () => import("../commands/state.js");

function addList(state: Command): void {
  const list = withStateRequired(withFiles(state.command("list [stack...]"))).description(
    "list every recorded resource and machine: cloud id, phase, machine and set",
  );
  withExamples(list, [
    ["capstan state list", "of every cluster in the state folder"],
    ["capstan state list default/prod --json", "of one of them, for a program"],
  ]);
  looks<StateOptions>(list, async ({ options, context }, stacks: string[]) =>
    (await readingVerbs()).stateListCommand(stacks, options, context),
  );
}

function addShow(state: Command): void {
  const show = state
    .command("show")
    .argument("<stack>", "which cluster")
    .argument("<record>", "as state list names it, e.g. Machine/cp-0")
    .description("show what is recorded of one resource or machine: inputs, outputs, identity");
  withExamples(show, [
    ["capstan state show default/prod Machine/cp-0", "a machine"],
    ["capstan state show default/prod LocalNetwork/network --json", "for a program"],
  ]);
  looks<GlobalOptions>(show, async ({ options, context }, stack: string, record: string) =>
    (await readingVerbs()).stateShowCommand(stack, record, options, context),
  );
}

function addMove(state: Command): void {
  const move = withDeadline(
    withTimeout(withThaw(withRemoval(withYes(withRecursion(state.command("move")))))),
  )
    .argument("<object>", "whose machines, or which one: MachineDeployment/workers, Machine/web-0")
    .argument("<owner>", "whose they are to be: a MachineDeployment or MachineSet of the manifests")
    .argument("[more...]", "more of both")
    .option("--details", "show all inputs of what is new")
    .description("give machines to another set or deployment, and keep their hosts");
  withExamples(move, [
    ["capstan state move -f prod md/workers md/general", "a pool was renamed in the manifests"],
    ["capstan state move -f prod machine/web-0 machineset/db", "one machine goes to another pool"],
  ]);
  changes<StateMoveOptions>(
    move,
    async ({ options, context }, object: string, owner: string, more: string[]) => {
      const { stateMoveCommand } = await import("../commands/state-move.js");
      return stateMoveCommand([object, owner, ...more], options, context);
    },
  );
}
