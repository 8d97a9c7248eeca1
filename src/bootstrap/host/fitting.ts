import type { MemberPath } from "../../api/diagnostic-codes.js";
import { bootstrapFieldName, hostAdditionsOf } from "../../api/host-additions.js";
import { canonicalJson } from "../../api/json.js";
import { firstStage, type KeyStage } from "../../api/key-stage.js";
import { kubeadmFieldName } from "../../api/kubeadm-patch.js";
import { type ClusterObject, providerValue } from "../../api/types.js";
import { runtimeTerms } from "../../provider/joining-terms.js";
import type { MachineToCompile, UserData, UserDataTerms } from "../../provider/port.js";
import { deliveryOf, termsFor } from "./delivery.js";
import { hostBootstrap } from "./host-bootstrap.js";
import { roleWith, sizedSecrets } from "./host-secrets.js";
import { hostSettings } from "./machine-settings.js";
import type { BootstrapKind } from "./member-role.js";
import { hostRuntimes } from "./software.js";
import { formatFault } from "./user-data.js";

/** Why no user data can be made for a machine's host, or none that its cloud takes. */
interface Misfit {
  readonly reason: string;
  /** What asks for it, below the machine's spec. */
  readonly member: MemberPath;
}

/** As long as a DNS name can be: how long the real one is, nobody knows before the infrastructure stands. */
const longestEndpoint = { host: `${"a".repeat(63)}.`.repeat(4).slice(0, 253), port: 65_535 };

/**
 * What keeps a machine's host from being made a node, told before anything is made: with secrets of the size of real
 * ones. Pure; the same each time.
 */
export function misfitOf(
  cluster: ClusterObject,
  machine: MachineToCompile,
  terms: UserDataTerms,
  stage: KeyStage = firstStage,
): Misfit | undefined {
  const clusterSpec = providerValue(cluster.spec);
  const { containerRuntime = runtimeTerms(terms, clusterSpec) } = machine.spec.versions;
  if (!hostRuntimes.includes(containerRuntime.name)) {
    const known = hostRuntimes.join(" or ");
    return {
      reason: `no host is made with the container runtime ${containerRuntime.name}, but with ${known}`,
      member: ["versions", "containerRuntime", "name"],
    };
  }
  const { packages, aptMirrors, template } = hostAdditionsOf(machine.providerSpec);
  if ((packages ?? aptMirrors) !== undefined && terms.software(machine, clusterSpec) === "image") {
    const reason = "its image holds its software, and no package is installed";
    const field = packages === undefined ? "aptMirrors" : "packages";
    return { reason, member: [...additionsPath, field] };
  }
  const own = termsFor(cluster, terms);
  const store = own.secrets;
  const obstacle = store?.obstacleOf?.(machine);
  if (obstacle !== undefined) return obstacle;
  const isLimited = terms.limit !== undefined || store?.limitBytes !== undefined;
  if (!isLimited && template === undefined) return undefined;
  const kinds: readonly BootstrapKind[] = machine.controlPlane
    ? ["init", "joinControlPlane"]
    : ["joinWorker"];
  const deliveries = kinds.map((kind) => {
    const role = roleWith(kind, sizedSecrets(stage));
    const members = machine.controlPlane ? [machine] : [];
    const about = { cluster, machine, members, terms, endpoint: longestEndpoint, role };
    return deliveryOf(hostBootstrap(hostSettings(about)), own, "0".repeat(32));
  });
  const userData = deliveries.map((one) => one.userData);
  const [faulty] = userData.flatMap(({ text }) => formatFault(text, terms.format) ?? []);
  if (template !== undefined && faulty !== undefined) {
    return { reason: faulty, member: [...additionsPath, "template"] };
  }
  const kept = deliveries.map(({ secret }) => secret?.content.byteLength ?? 0);
  const limitBytes = store?.limitBytes ?? Infinity;
  const keptBytes = Math.max(...kept);
  if (keptBytes > limitBytes) {
    return {
      reason: `its secret would take ${keptBytes} bytes when packed, and this cloud keeps ${limitBytes}`,
      member: largestPart(machine),
    };
  }
  return oversize(userData, machine, terms.limit);
}

const additionsPath: MemberPath = ["providerSpec", "value", bootstrapFieldName];

function oversize(
  userData: readonly UserData[],
  machine: MachineToCompile,
  limit: UserDataTerms["limit"],
): Misfit | undefined {
  if (limit === undefined) return undefined;
  const sizes = userData.map(({ text, packed }) =>
    limit.counts === "packed" ? packed.byteLength : Buffer.byteLength(text),
  );
  const bytes = Math.max(...sizes);
  if (bytes <= limit.bytes) return undefined;
  return {
    reason: `its user data would take ${bytes} bytes${limit.counts === "packed" ? " when packed" : ""}, and this cloud takes ${limit.bytes}`,
    member: largestPart(machine),
  };
}

/** The same for many machines of a cluster: those of a set are alike, and there may be thousands. */
export function misfitLookup(
  cluster: ClusterObject,
  terms: UserDataTerms,
  stage?: KeyStage,
): (machine: MachineToCompile) => Misfit | undefined {
  const known = new Map<string, Misfit | undefined>();
  return (machine) => {
    const spec = canonicalJson(machine.spec);
    if (!known.has(spec)) known.set(spec, misfitOf(cluster, machine, terms, stage));
    return known.get(spec);
  };
}

/** What of a machine's spec takes most room: there somebody can do something about it. */
function largestPart({ spec, providerSpec }: MachineToCompile): MemberPath {
  const parts: [MemberPath, unknown][] = [
    [["metadata"], spec.metadata],
    [["taints"], spec.taints],
    ...[kubeadmFieldName, bootstrapFieldName].map((name): [MemberPath, unknown] => [
      ["providerSpec", "value", name],
      providerSpec[name],
    ]),
  ];
  const sizes = parts.map(([path, value]) => ({ path, size: JSON.stringify(value ?? "").length }));
  return sizes.reduce((largest, one) => (one.size > largest.size ? one : largest)).path;
}
