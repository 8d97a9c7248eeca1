import type { PlannedStep, PreflightFinding } from "../../../src/provider/port.js";
import { nodesOf } from "../file/resource.js";
import { overlapOf } from "./place.js";

/** What keeps this machine from making the hosts of namespaces, and their networks, that a plan asks for. Asks for its lack where there are any. */
export async function machineFindings(
  steps: readonly PlannedStep[],
  lackOfHosts: () => Promise<string | undefined>,
): Promise<readonly PreflightFinding[]> {
  const made = steps.filter(
    ({ does, wanted }) =>
      does === "create" && wanted !== undefined && nodesOf(wanted) === "kubeadm",
  );
  if (made.length === 0) return [];
  const needsNetwork = made.some(({ kind }) => kind === "LocalLoadBalancer");
  return [
    ...lackFindings(await lackOfHosts()),
    ...runtimeFindings(made),
    ...(needsNetwork ? rangeFindings(steps) : []),
  ];
}

function lackFindings(lack: string | undefined): PreflightFinding[] {
  if (lack === undefined) return [];
  const message = `this machine cannot run hosts with nodes: kubeadm: ${lack}`;
  const hint = "docs/local-cloud.md says what they need; nodes: processes needs nothing of it";
  return [{ code: "TOOLCHAIN", message, hint }];
}

/** Pure. */
function runtimeFindings(hosts: readonly PlannedStep[]): PreflightFinding[] {
  const others = hosts.filter(({ wanted }) => wanted?.["containerRuntime"] !== undefined);
  return others.map(({ name }) => ({
    code: "UNSUPPORTED_CHANGE",
    message: `host ${name} is to have a container runtime of a version, and hosts with nodes: kubeadm have this machine's containerd`,
    hint: "take versions.containerRuntime away",
  }));
}

/** Of networks that are to be made: of others, the plan does not tell the range. */
function rangeFindings(steps: readonly PlannedStep[]): PreflightFinding[] {
  return steps.flatMap(({ kind, does, wanted }) => {
    if (kind !== "LocalNetwork" || does !== "create" || wanted === undefined) return [];
    const cidr = String(wanted["cidr"]);
    const overlap = overlapOf(cidr);
    if (overlap === undefined) return [];
    const message = `networkCidr ${cidr} overlaps a network that this machine is in: ${overlap}`;
    return [{ code: "UNSUPPORTED_CHANGE", message, hint: "name another range in networkCidr" }];
  });
}
