import type { CloudRow, Deployment } from "../scenario/ledger-judge.js";
import type { Scene } from "./scene.js";

/**
 * What happens to a cluster beside all commands. recordedDrift: a host's tags are changed by hand, and `pulumi refresh` records that.
 * lostRecord: the record of a host that runs is deleted. deadHost: the cloud ends a host.
 */
export type RecordAccident = "recordedDrift" | "lostRecord" | "deadHost";

/** The hosts of the cluster that run, by name: those that are recorded, and those that a kill has left in no record. */
export async function hostsOf({
  sandbox,
  stack,
}: Scene): Promise<{ readonly recorded: readonly CloudRow[]; readonly left: readonly CloudRow[] }> {
  const { resources = [] } = await sandbox.lastGoodDeployment(stack);
  const transaction = resources.find(({ type }) => type.endsWith(":Transaction"));
  const clusterUid = transaction?.inputs?.["clusterUid"];
  const ids = new Set(resources.map(({ id }) => id));
  const running = sandbox
    .alive()
    .filter((row) => row.kind === "LocalHost" && row.clusterUid === clusterUid)
    .sort((one, other) => (one.name < other.name ? -1 : 1));
  return {
    recorded: running.filter(({ id }) => ids.has(id)),
    left: running.filter(({ id }) => !ids.has(id)),
  };
}

export function isMember({ spec }: CloudRow): boolean {
  return "controlPlane" in spec;
}

/** Lets an accident happen to a host. No command may run. */
export async function happen(
  { sandbox, stack }: Scene,
  accident: RecordAccident,
  { id }: CloudRow,
) {
  switch (accident) {
    case "recordedDrift":
      await sandbox.cloud.set(id, { tags: { by: "hand" } });
      await sandbox.plain(0, "refresh", stack, "--yes", "--skip-preview");
      return;
    case "lostRecord":
      return sandbox.editState(stack, (deployment) => dropRecord(deployment, id));
    case "deadHost":
      await sandbox.cloud.kill(id);
  }
}

/** Takes a resource out of a state, and out of all that depends on it. */
function dropRecord(deployment: Deployment, id: string): void {
  const { resources = [] } = deployment;
  const urn = resources.find((one) => one.id === id)?.urn;
  const without = (_: string, value: unknown): unknown =>
    Array.isArray(value) ? value.filter((one) => one !== urn) : value;
  deployment.resources = resources
    .filter((one) => one.urn !== urn)
    .map((one) => JSON.parse(JSON.stringify(one, without)) as typeof one);
}
