import { awsApiVersion } from "../../../../providers/aws/specs/cluster-spec.js";
import type { JsonObject } from "../../../../src/api/json.js";
import { apiVersion, clusterNameLabel } from "../../../../src/api/schema.js";
import { clusterNetwork } from "../../../support/manifests.js";

const kubelet = "1.34.2";

/** What is asked for. */
export interface LifeShape {
  /** Name of the cluster; "life" without. */
  readonly cluster?: string;
  /** Fields of its machines beside those that they have everywhere. */
  readonly machine?: JsonObject;
  /** The same of its worker alone. */
  readonly worker?: JsonObject;
  /** Of all that it is made of; two without. */
  readonly tags?: JsonObject;
  /** Without a worker and a volume. */
  readonly isSmall?: boolean;
  /** Without a public host. */
  readonly isPrivate?: boolean;
}

/** A member of the control plane with a volume and a public worker, in two zones with one way out. */
export function manifestOf({
  cluster: name = "life",
  machine: fields = {},
  worker = {},
  tags = { team: "blue", stage: "test" },
  isSmall,
  isPrivate,
}: LifeShape): {
  file: string;
  text: string;
} {
  const machine = (machineName: string, versions: object, more: object) => ({
    apiVersion,
    kind: "Machine",
    metadata: { name: machineName, labels: { [clusterNameLabel]: name } },
    spec: {
      versions,
      providerSpec: {
        value: {
          apiVersion: awsApiVersion,
          kind: "AWSMachineProviderSpec",
          instanceType: "t3.medium",
          ...fields,
          ...more,
        },
      },
    },
  });
  const cluster = {
    apiVersion,
    kind: "Cluster",
    metadata: { name },
    spec: {
      clusterNetwork: clusterNetwork(),
      providerSpec: {
        value: {
          apiVersion: awsApiVersion,
          kind: "AWSClusterProviderSpec",
          region: "eu-north-1",
          zones: ["eu-north-1a", "eu-north-1b"],
          natGateways: "one",
          // A public host then has a rule of its own.
          apiServer: { allowedCidrs: ["203.0.113.0/24"] },
          // Machines without a profile could fetch nothing.
          ...(fields["instanceProfile"] === undefined ? { hostSecrets: "userData" } : {}),
          tags,
        },
      },
    },
  };
  const dataVolumes = [{ name: "data", device: "/dev/sdf", gib: 8 }];
  const member = { kubelet, controlPlane: kubelet };
  const documents =
    isSmall === true
      ? [cluster, machine("cp-0", member, {})]
      : [
          cluster,
          machine("cp-0", member, { dataVolumes }),
          machine(
            "web",
            { kubelet },
            { ...worker, ...(isPrivate === true ? {} : { publicIp: true }) },
          ),
        ];
  return { file: "life.json", text: documents.map((one) => JSON.stringify(one)).join("\n---\n") };
}
