import { apiVersion, clusterNameLabel } from "../api/schema.js";
import type { JsonObject } from "../api/json.js";
import { omitUndefined } from "../api/omit-undefined.js";
import { type Desired, providerValue } from "../api/types.js";
import { machineToCompile, templateJudge } from "../compile/compile.js";
import { inDependencyOrder } from "../graph/graph.js";
import { diagnosticText } from "../manifest/diagnostic.js";
import { readDesired } from "../manifest/desired.js";
import type { InfrastructureProvider, MachineToCompile } from "../provider/port.js";
import { expandMachines } from "../sets/expand.js";
import { must, type Sample } from "./subject.js";

/** Machines of the case's cluster by name, with what differs from the subject's machineSpec. */
export type MachineSpecs = Readonly<Record<string, JsonObject>>;

/** What every machine of the sample runs. */
export const sampleKubelet = "1.34.2";

/** The machine of this name is a member of the control plane; every other one is a worker. */
export const memberName = "cp";

/** The sample as a user would write it. Pure. */
export function sampleManifest(
  { clusterSpec, machineSpec }: Sample,
  specs: MachineSpecs,
  clusterFields: JsonObject = {},
): { file: string; text: string } {
  const cluster = {
    apiVersion,
    kind: "Cluster",
    metadata: { name: "conformance" },
    spec: {
      clusterNetwork: {
        services: { cidrBlocks: ["10.96.0.0/12"] },
        pods: { cidrBlocks: ["192.168.0.0/16"] },
        serviceDomain: "cluster.local",
      },
      providerSpec: { value: { ...clusterSpec, ...clusterFields } },
    },
  };
  const machines = Object.entries(specs).map(([name, fields]) => ({
    apiVersion,
    kind: "Machine",
    metadata: { name, labels: { [clusterNameLabel]: "conformance" } },
    spec: {
      versions: omitUndefined({
        kubelet: sampleKubelet,
        controlPlane: name === memberName ? sampleKubelet : undefined,
      }),
      providerSpec: { value: { ...machineSpec, ...fields } },
    },
  }));
  const documents = [cluster, ...machines].map((document) => JSON.stringify(document));
  return { file: "conformance.json", text: documents.join("\n---\n") };
}

/** What a manifest of the sample asks for: the provider's schemas have to accept it. */
export function desiredOf(
  provider: InfrastructureProvider,
  manifest: { readonly file: string; readonly text: string },
): Desired {
  const { clusters, diagnostics } = readDesired([manifest], [provider]);
  const errors = diagnostics.filter(({ severity }) => severity === "error");
  const problems = errors.map(diagnosticText).join("; ");
  const [only] = clusters;
  must(only !== undefined && problems === "", "accept the specs of its own sample", problems);
  return only;
}

/** Machines of the sample as the provider is given them, where Capstan places them. Pure. */
export function machinesOf(
  provider: InfrastructureProvider,
  desired: Desired,
): readonly MachineToCompile[] {
  const judge = templateJudge(provider, desired.cluster);
  return expandMachines(desired, [], judge).map((machine) => machineToCompile(provider, machine));
}

/** The kinds that a cluster with these machines needs, in dependency order, what lives with hosts last. */
export function kindsOf(provider: InfrastructureProvider, desired: Desired): string[] {
  const { cluster } = desired;
  const machines = machinesOf(provider, desired);
  const { infrastructure, satellites } = provider.compile(
    cluster,
    providerValue(cluster.spec),
    machines,
  );
  const ours = inDependencyOrder(infrastructure).filter(({ type }) => type === "resource");
  const own = [...(satellites?.values() ?? [])].flat();
  return [...new Set([...ours, { kind: provider.hostKind }, ...own].map(({ kind }) => kind))];
}
