import { joiningHosts } from "../../engine/run/joining-hosts.js";
import type { NodeKey } from "../../graph/graph.js";
import type { Plan } from "../../plan/plan.js";
import { livingWith, type Target } from "../../records/target.js";
import { inRegistrationOrder } from "../../transaction/pass.js";
import type { PassProgram } from "../../transaction/registration.js";

/**
 * A pass in which hosts join one after the other: each is made after those of the plan's waves before its own, and after all that lives with
 * them, so that a first member serves before another joins it. Any other pass stays as it is. Pure.
 */
export function inTurns(
  program: PassProgram,
  { oneBegins, waves, steps, target }: Plan,
  revision: Target | undefined,
): PassProgram {
  if (!oneBegins) return program;
  const hosts = new Set(target.machines.map(({ host }) => host));
  const created = steps.filter(({ kind, key }) => kind === "create" && hosts.has(key));
  const made = new Set(created.map(({ key }) => key));
  const turns = waves.map(({ keys }) => keys.filter((key) => made.has(key)));
  // Members that an earlier pass has made, and that may not serve yet.
  const members = new Set(target.machines.flatMap((one) => (one.controlPlane ? [one.host] : [])));
  const begun = joiningHosts(target, revision).filter((key) => members.has(key) && !made.has(key));
  const afterWhom = new Map<NodeKey, readonly NodeKey[]>();
  turns
    .filter((turn) => turn.length > 0)
    .reduce<readonly NodeKey[]>(
      (before, turn) => {
        for (const key of turn) afterWhom.set(key, before);
        return [...turn, ...livingWith(turn, target)];
      },
      [...begun, ...livingWith(begun, target)],
    );
  const registrations = program.registrations.map((one) => ({
    ...one,
    dependsOn: [...new Set([...one.dependsOn, ...(afterWhom.get(one.key) ?? [])])],
  }));
  return { ...program, registrations: inRegistrationOrder(registrations) };
}
