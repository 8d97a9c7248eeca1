import { type Static, Type } from "typebox";
import type { MemberPath, Violation } from "./diagnostic-codes.js";
import { isJsonObject, type JsonObject } from "./json.js";
import { kubeletFields } from "./kubelet-fields.js";
import { closed, stringEnum, stringMap } from "./schema-parts.js";
import { nearest, validate } from "./validate.js";

const args = Type.Optional(stringMap("Arguments by name, without dashes."));
const texts = Type.Optional(Type.Array(Type.String()));
const text = Type.Optional(Type.String());

const volumes = Type.Optional(
  Type.Array(
    closed(
      {
        name: Type.String(),
        hostPath: Type.String(),
        mountPath: Type.String(),
        readOnly: Type.Optional(Type.Boolean()),
        pathType: text,
      },
      "A path of the host that a component sees.",
    ),
  ),
);

const component = closed({ extraArgs: args, extraVolumes: volumes }, "A component.");

/** What kubeadm's v1beta3 and v1beta4 both have of a cluster, without what makes it this one. */
const clusterConfiguration = closed(
  {
    imageRepository: text,
    featureGates: Type.Optional(Type.Record(Type.String(), Type.Boolean())),
    apiServer: Type.Optional(
      closed({ extraArgs: args, extraVolumes: volumes, certSANs: texts }, "The API server."),
    ),
    controllerManager: Type.Optional(component),
    scheduler: Type.Optional(component),
    etcd: Type.Optional(
      closed(
        {
          local: Type.Optional(
            closed(
              {
                imageRepository: text,
                imageTag: text,
                dataDir: text,
                extraArgs: args,
                serverCertSANs: texts,
                peerCertSANs: texts,
              },
              "etcd on the members.",
            ),
          ),
        },
        "etcd.",
      ),
    ),
    dns: Type.Optional(closed({ imageRepository: text, imageTag: text }, "The DNS server.")),
  },
  "Parts of kubeadm's ClusterConfiguration.",
);

const nodeRegistration = closed(
  {
    kubeletExtraArgs: args,
    ignorePreflightErrors: texts,
    imagePullPolicy: Type.Optional(stringEnum(["Always", "IfNotPresent", "Never"])),
  },
  "Parts of kubeadm's NodeRegistrationOptions.",
);

const strict = Type.Object({
  clusterConfiguration: Type.Optional(clusterConfiguration),
  nodeRegistration: Type.Optional(nodeRegistration),
  kubeletConfiguration: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
});

/** What a user adds to the kubeadm configuration of a machine; arguments are maps, whatever kubeadm's API has. */
export type KubeadmPatch = Static<typeof strict>;

/** The field of a provider's object of a Machine that holds it. */
export const kubeadmFieldName = "kubeadm";

const part = (description: string) =>
  Type.Optional(Type.Object({}, { additionalProperties: true, description }));

/** Its schema, for the schemas of providers whose hosts take user data. Source: docs/bootstrap.md#your-own-settings. */
export const kubeadmField = Type.Object(
  {
    clusterConfiguration: part(
      "Parts of kubeadm's ClusterConfiguration, e.g. apiServer.extraArgs, for the control plane; none for workers.",
    ),
    nodeRegistration: part(
      "Parts of kubeadm's NodeRegistrationOptions: kubeletExtraArgs (a map), ignorePreflightErrors, imagePullPolicy.",
    ),
    kubeletConfiguration: part("Members of the KubeletConfiguration of this host."),
  },
  {
    additionalProperties: false,
    // Arguments hold passwords and tokens as well as sizes, and only the user knows which of them do.
    writeOnly: true,
    description:
      "What kubeadm is told beyond what the Cluster and the Machine say. Changing it needs a new host.",
  },
);

/** What says it instead, of members of kubeadm's and the kubelet's objects that make a cluster or a node this one. */
const saidElsewhere: Readonly<Record<string, string>> = {
  "clusterConfiguration.kubernetesVersion": "versions.controlPlane of the Machine says it",
  "clusterConfiguration.clusterName": "metadata.name of the Cluster says it",
  "clusterConfiguration.networking": "spec.clusterNetwork of the Cluster says it",
  "clusterConfiguration.controlPlaneEndpoint": "the provider tells it",
  "clusterConfiguration.encryptionAlgorithm":
    "annotation capstan.dev/key-algorithm of the Cluster says it",
  "clusterConfiguration.certificatesDir": "the cluster's keys are put where kubeadm looks for them",
  "clusterConfiguration.etcd.external": "the members of a control plane run etcd themselves",
  "nodeRegistration.name": "the provider's hosts tell it",
  "nodeRegistration.criSocket": "versions.containerRuntime of the Machine says it",
  "nodeRegistration.taints": "spec.taints of the Machine says it",
  "kubeletConfiguration.clusterDomain": "spec.clusterNetwork of the Cluster says it",
  "kubeletConfiguration.clusterDNS": "it follows from spec.clusterNetwork of the Cluster",
  "kubeletConfiguration.cgroupDriver": "the container runtime is set up for systemd",
  "kubeletConfiguration.containerRuntimeEndpoint":
    "versions.containerRuntime of the Machine says it",
  "kubeletConfiguration.providerID": "the provider's hosts tell it",
  "kubeletConfiguration.registerWithTaints": "spec.taints of the Machine says it",
  "kubeletConfiguration.staticPodPath": "kubeadm keeps the control plane there",
};

const byKubeadm = "kubeadm sets it";
const byNetwork = "spec.clusterNetwork of the Cluster says it";
const byProvider = "the provider tells it";

/** The same of arguments: by the map that holds them. */
const argumentsElsewhere: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "nodeRegistration.kubeletExtraArgs": {
    "node-labels": "spec.metadata.labels of the Machine says it",
    "register-with-taints": "spec.taints of the Machine says it",
    "container-runtime-endpoint": "versions.containerRuntime of the Machine says it",
    "hostname-override": byProvider,
    "provider-id": byProvider,
    "cloud-provider": byProvider,
    ...allOf(byKubeadm, ["config", "kubeconfig", "bootstrap-kubeconfig", "client-ca-file"]),
  },
  "clusterConfiguration.apiServer.extraArgs": {
    "service-cluster-ip-range": byNetwork,
    "cloud-provider": byProvider,
    ...allOf(byKubeadm, ["advertise-address", "secure-port", "client-ca-file", "etcd-servers"]),
    ...allOf(byKubeadm, ["etcd-cafile", "etcd-certfile", "etcd-keyfile", "tls-cert-file"]),
    ...allOf(byKubeadm, ["tls-private-key-file", "service-account-key-file"]),
    ...allOf(byKubeadm, ["service-account-signing-key-file", "requestheader-client-ca-file"]),
  },
  "clusterConfiguration.controllerManager.extraArgs": {
    "cluster-cidr": byNetwork,
    "service-cluster-ip-range": byNetwork,
    "cluster-name": "metadata.name of the Cluster says it",
    "cloud-provider": byProvider,
    ...allOf(byKubeadm, ["cluster-signing-cert-file", "cluster-signing-key-file", "root-ca-file"]),
    ...allOf(byKubeadm, ["service-account-private-key-file", "kubeconfig", "client-ca-file"]),
  },
  "clusterConfiguration.scheduler.extraArgs": allOf(byKubeadm, ["kubeconfig", "client-ca-file"]),
  "clusterConfiguration.etcd.local.extraArgs": {
    ...allOf(byKubeadm, ["name", "data-dir", "initial-cluster", "initial-cluster-state"]),
    ...allOf(byKubeadm, ["initial-advertise-peer-urls", "advertise-client-urls"]),
    ...allOf(byKubeadm, ["listen-client-urls", "listen-peer-urls", "cert-file", "key-file"]),
    ...allOf(byKubeadm, ["trusted-ca-file", "peer-cert-file", "peer-key-file"]),
    ...allOf(byKubeadm, ["peer-trusted-ca-file"]),
  },
};

function allOf(reason: string, names: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(names.map((name) => [name, reason]));
}

/**
 * What is wrong with the members of a patch that fits `kubeadmField`: unknown ones, and those that would give the
 * cluster or the node another identity. Paths begin below the field. Pure.
 */
export function checkKubeadmPatch(patch: JsonObject): Violation[] {
  return [
    ...validate(strict, structuredClone(patch)).map(explained),
    ...kubeletMembers(patch["kubeletConfiguration"]),
    ...Object.entries(argumentsElsewhere).flatMap(([place, reasons]) => {
      const path = place.split(".");
      const found = path.reduce<unknown>(
        (current, name) => (isJsonObject(current) ? current[name] : undefined),
        patch,
      );
      return Object.keys(isJsonObject(found) ? found : {}).flatMap((name) => {
        const reason = reasons[name];
        return reason === undefined ? [] : [refused([...path, name], reason)];
      });
    }),
  ];
}

/** A member that kubeadm has, and that is said elsewhere, is not unknown. */
function explained(violation: Violation): Violation {
  const reason = reasonOf(violation.path);
  return violation.code === "FIELD_UNKNOWN" && reason !== undefined
    ? refused(violation.path, reason)
    : violation;
}

/** A kubelet that reads a member it does not know ends at once, minutes after its host was made. */
function kubeletMembers(value: unknown): Violation[] {
  return Object.keys(isJsonObject(value) ? value : {}).flatMap((name) => {
    const path = ["kubeletConfiguration", name];
    const reason = reasonOf(path);
    if (reason !== undefined) return [refused(path, reason)];
    return kubeletFields.has(name) ? [] : [unknownToKubelets(path, name)];
  });
}

function unknownToKubelets(path: MemberPath, name: string): Violation {
  const near = nearest(name, [...kubeletFields]);
  const hint =
    near === undefined
      ? "the reference of Kubernetes lists the fields of KubeletConfiguration (v1beta1)"
      : `did you mean "${near}"?`;
  return { code: "FIELD_UNKNOWN", path, summary: `unknown field "${name}"`, hint };
}

function reasonOf(path: MemberPath): string | undefined {
  const name = path.at(-1);
  return name === "apiVersion" || name === "kind" ? byKubeadm : saidElsewhere[path.join(".")];
}

function refused(path: MemberPath, reason: string): Violation {
  const summary = `${String(path.at(-1))} cannot be set here`;
  return { code: "NOT_ALLOWED", path, summary, hint: reason };
}
