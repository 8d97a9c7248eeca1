import { awsProvider } from "../../../providers/aws/provider.js";
import type { JsonObject } from "../../../src/api/json.js";
import type { ClusterObject } from "../../../src/api/types.js";
import { inDependencyOrder } from "../../../src/graph/graph.js";
import type { MachineToCompile } from "../../../src/provider/port.js";
import { noClients } from "./no-clients.js";

const provider = awsProvider(noClients);

/** What a cluster on AWS is compiled to: every node with its inputs, one per line. */
export function graphText(
  cluster: Pick<ClusterObject, "spec">,
  spec: JsonObject,
  machines: readonly MachineToCompile[],
  lookedUp: JsonObject = {},
): string {
  const { infrastructure, hosts, satellites } = provider.compile(
    cluster as ClusterObject,
    spec,
    machines,
    lookedUp,
  );
  const shared = infrastructure.map(({ kind, name, type, spec: inputs, dependsOn }) =>
    [
      `${type} ${kind} ${name} ${JSON.stringify(inputs)}`,
      ...dependsOn.map((key) => `  after ${key}`),
    ].join("\n"),
  );
  const own = [...hosts].map(([name, inputs]) => `host ${name} ${JSON.stringify(inputs)}`);
  const beside = [...(satellites ?? [])].flatMap(([name, all]) =>
    all.map(
      (one) =>
        `of ${name}: ${one.kind} ${one.name} ${JSON.stringify(one.spec)} ${one.whenHostGoes ?? ""}`,
    ),
  );
  inDependencyOrder(infrastructure);
  return `${[...shared, ...own, ...beside].join("\n").replaceAll(/\{"\$ref":"([^"]+)","output":"([^"]+)"\}/g, "<$1 $2>")}\n`;
}
