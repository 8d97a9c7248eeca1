import { parse } from "yaml";
import type { JsonObject } from "../../../src/api/json.js";
import type { HttpsClient } from "./https-client.js";

const rbac = "rbac.authorization.k8s.io";
const joining = "system:bootstrappers:kubeadm:default-node-token";

/** Where the configuration of a cluster stands for members that join it. */
const configuration = { namespace: "kube-system", name: "kubeadm-config" };

/**
 * Makes what kubeadm leaves in a new cluster for those who come after: its configuration, whom to trust, and who may join. What is
 * there stays. Source: https://kubernetes.io/docs/reference/setup-tools/kubeadm/implementation-details/
 */
export async function makeFirstObjects(
  api: HttpsClient,
  cluster: JsonObject,
  authoritiesPem: string,
): Promise<void> {
  const { controlPlaneEndpoint } = cluster;
  const kubeconfig = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      {
        name: "",
        cluster: {
          server: `https://${String(controlPlaneEndpoint)}`,
          "certificate-authority-data": Buffer.from(authoritiesPem).toString("base64"),
        },
      },
    ],
  };
  await api.ensure(...configMap(configuration, { ClusterConfiguration: JSON.stringify(cluster) }));
  await api.ensure(
    ...configMap(
      { namespace: "kube-public", name: "cluster-info" },
      { kubeconfig: JSON.stringify(kubeconfig) },
    ),
  );
  const reader = "kubeadm:bootstrap-signer-clusterinfo";
  const roles = `/apis/${rbac}/v1/namespaces/kube-public`;
  await api.ensure(`${roles}/roles`, {
    metadata: { name: reader },
    rules: [
      {
        apiGroups: [""],
        resources: ["configmaps"],
        resourceNames: ["cluster-info"],
        verbs: ["get"],
      },
    ],
  });
  await api.ensure(`${roles}/rolebindings`, {
    metadata: { name: reader },
    roleRef: { apiGroup: rbac, kind: "Role", name: reader },
    subjects: [{ apiGroup: rbac, kind: "User", name: "system:anonymous" }],
  });
  for (const [name, role, group] of bindings) {
    await api.ensure(`/apis/${rbac}/v1/clusterrolebindings`, {
      metadata: { name },
      roleRef: { apiGroup: rbac, kind: "ClusterRole", name: role },
      subjects: [{ apiGroup: rbac, kind: "Group", name: group }],
    });
  }
}

const bindings = [
  ["kubeadm:cluster-admins", "cluster-admin", "kubeadm:cluster-admins"],
  ["kubeadm:kubelet-bootstrap", "system:node-bootstrapper", joining],
  [
    "kubeadm:node-autoapprove-bootstrap",
    "system:certificates.k8s.io:certificatesigningrequests:nodeclient",
    joining,
  ],
] as const;

function configMap(
  { namespace, name }: { readonly namespace: string; readonly name: string },
  data: Readonly<Record<string, string>>,
): [string, object] {
  return [`/api/v1/namespaces/${namespace}/configmaps`, { metadata: { name }, data }];
}

/** kubeadm's ClusterConfiguration, as the first member has left it and Capstan keeps it. Throws an Error while there is none. */
export async function configurationIn(api: HttpsClient): Promise<JsonObject> {
  const { namespace, name } = configuration;
  const { data } = await api.get<{ readonly data: Readonly<Record<string, string>> }>(
    `/api/v1/namespaces/${namespace}/configmaps/${name}`,
  );
  return parse(data["ClusterConfiguration"] ?? "{}") as JsonObject;
}
