import type { HostClusterState, HostNode, HostSecret } from "./host-cluster.js";

/** A request as it comes. */
export interface ApiRequest {
  readonly method: string;
  readonly url: string;
  readonly body: string;
}

/** What an API server answers, and what its etcd holds then. */
export interface ApiAnswer {
  readonly status: number;
  readonly document: object;
  readonly state: HostClusterState;
}

type Route = (asked: Asked, state: HostClusterState) => ApiAnswer;

interface Asked {
  /** The last part of the path: a name. */
  readonly name: string;
  /** Names of Nodes whose kubelet runs. */
  readonly running: ReadonlySet<string>;
  readonly selector: string;
  readonly body: unknown;
}

const system = "/api/v1/namespaces/kube-system";
const info = "/api/v1/namespaces/kube-public/configmaps/cluster-info";
const kubeadm = `${system}/configmaps/kubeadm-config`;

const routes: readonly (readonly [method: string, path: RegExp, route: Route])[] = [
  ["GET", exactly(info), (_, state) => ok(clusterInfo(state), state)],
  ["PATCH", exactly(info), patchClusterInfo],
  ["GET", exactly(kubeadm), (_, state) => ok(kubeadmConfig(state), state)],
  ["PATCH", exactly(kubeadm), patchKubeadmConfig],
  ["GET", exactly(`${system}/secrets`), listSecrets],
  ["POST", exactly(`${system}/secrets`), createSecret],
  ["PATCH", within(`${system}/secrets`), patchSecret],
  ["DELETE", exactly(`${system}/secrets`), deleteSecrets],
  ["GET", exactly("/api/v1/nodes"), (_, state) => ok(list(state.nodes.map(nodeObject)), state)],
  ["PATCH", within("/api/v1/nodes"), patchNode],
  ["DELETE", within("/api/v1/nodes"), deleteNode],
  // Nothing runs on them but what goes with its host.
  ["GET", exactly("/api/v1/pods"), (_, state) => ok(list([]), state)],
  ["GET", exactly(`${system}/pods`), (asked, state) => ok(list(etcdPods(asked, state)), state)],
];

function exactly(path: string): RegExp {
  return new RegExp(`^${path}$`);
}

function within(path: string): RegExp {
  return new RegExp(`^${path}/([^/]+)$`);
}

/** Answers 404 for what there is not. Pure. `running`: names of Nodes whose kubelet runs. */
export function answerApi(
  { method, url, body }: ApiRequest,
  state: HostClusterState,
  running: ReadonlySet<string>,
): ApiAnswer {
  const { pathname, searchParams } = new URL(url, "https://api");
  for (const [verb, path, route] of routes) {
    const match = path.exec(pathname);
    if (verb !== method || match === null) continue;
    const asked: Asked = {
      name: decodeURIComponent(match[1] ?? ""),
      running,
      selector: searchParams.get("labelSelector") ?? "",
      body: body === "" ? {} : (JSON.parse(body) as unknown),
    };
    return route(asked, state);
  }
  return refused(404, `there is no ${method} ${pathname}`, state);
}

function ok(document: object, state: HostClusterState, status = 200): ApiAnswer {
  return { status, document, state };
}

function refused(code: number, message: string, state: HostClusterState): ApiAnswer {
  const document = { kind: "Status", apiVersion: "v1", status: "Failure", message, code };
  return { status: code, document, state };
}

function list(items: readonly object[]): object {
  return { apiVersion: "v1", kind: "List", metadata: {}, items };
}

function clusterInfo({ clusterInfo: kubeconfig }: HostClusterState): object {
  const metadata = { name: "cluster-info", namespace: "kube-public" };
  return { apiVersion: "v1", kind: "ConfigMap", metadata, data: { kubeconfig } };
}

function patchClusterInfo({ body }: Asked, before: HostClusterState): ApiAnswer {
  const { data } = body as { readonly data?: { readonly kubeconfig?: string } };
  const state = { ...before, clusterInfo: data?.kubeconfig ?? before.clusterInfo };
  return ok(clusterInfo(state), state);
}

function kubeadmConfig({ kubeadmConfig: text }: HostClusterState): object {
  const metadata = { name: "kubeadm-config", namespace: "kube-system" };
  return { apiVersion: "v1", kind: "ConfigMap", metadata, data: { ClusterConfiguration: text } };
}

function patchKubeadmConfig({ body }: Asked, before: HostClusterState): ApiAnswer {
  const { data } = body as { readonly data?: { readonly ClusterConfiguration?: string } };
  const state = { ...before, kubeadmConfig: data?.ClusterConfiguration ?? before.kubeadmConfig };
  return ok(kubeadmConfig(state), state);
}

interface SecretBody {
  readonly metadata?: {
    readonly name?: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  /** In base64. */
  readonly data?: Readonly<Record<string, string>>;
  readonly stringData?: Readonly<Record<string, string>>;
}

function dataIn({ data = {}, stringData = {} }: SecretBody): Readonly<Record<string, string>> {
  const decoded = Object.entries(data).map(([key, value]) => [
    key,
    Buffer.from(value, "base64").toString(),
  ]);
  return { ...(Object.fromEntries(decoded) as Record<string, string>), ...stringData };
}

function secretObject({ name, labels, data }: HostSecret): object {
  const encoded = Object.entries(data).map(([key, value]) => [
    key,
    Buffer.from(value).toString("base64"),
  ]);
  const metadata = { name, namespace: "kube-system", labels };
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata,
    type: "bootstrap.kubernetes.io/token",
    data: Object.fromEntries(encoded) as object,
  };
}

function isSelected({ labels }: HostSecret, selector: string): boolean {
  const [key = "", value = ""] = selector.split("=");
  return selector === "" || labels[key] === value;
}

function listSecrets({ selector }: Asked, state: HostClusterState): ApiAnswer {
  const found = state.secrets.filter((one) => isSelected(one, selector));
  return ok(list(found.map(secretObject)), state);
}

function createSecret({ body }: Asked, before: HostClusterState): ApiAnswer {
  const { metadata: { name = "", labels = {} } = {}, ...rest } = body as SecretBody;
  if (before.secrets.some((one) => one.name === name)) {
    return refused(409, `secrets "${name}" already exists`, before);
  }
  const secret = { name, labels, data: dataIn(rest) };
  return ok(secretObject(secret), { ...before, secrets: [...before.secrets, secret] }, 201);
}

function patchSecret({ name, body }: Asked, before: HostClusterState): ApiAnswer {
  const known = before.secrets.find((one) => one.name === name);
  if (known === undefined) return refused(404, `secrets "${name}" not found`, before);
  const patched = { ...known, data: { ...known.data, ...dataIn(body as SecretBody) } };
  const secrets = before.secrets.map((one) => (one === known ? patched : one));
  return ok(secretObject(patched), { ...before, secrets });
}

function deleteSecrets({ selector }: Asked, before: HostClusterState): ApiAnswer {
  const gone = before.secrets.filter((one) => isSelected(one, selector));
  const secrets = before.secrets.filter((one) => !gone.includes(one));
  return ok(list(gone.map(secretObject)), { ...before, secrets });
}

function nodeObject({ name, providerId, address, controlPlane }: HostNode): object {
  const role = controlPlane ? { "node-role.kubernetes.io/control-plane": "" } : {};
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, labels: role },
    spec: { providerID: providerId },
    status: { addresses: [{ type: "InternalIP", address }] },
  };
}

/** Whether a Node takes pods makes no difference where there are none. */
function patchNode({ name }: Asked, state: HostClusterState): ApiAnswer {
  const known = state.nodes.find((one) => one.name === name);
  if (known === undefined) return refused(404, `nodes "${name}" not found`, state);
  return ok(nodeObject(known), state);
}

function deleteNode({ name }: Asked, before: HostClusterState): ApiAnswer {
  const known = before.nodes.find((one) => one.name === name);
  if (known === undefined) return refused(404, `nodes "${name}" not found`, before);
  const nodes = before.nodes.filter((one) => one !== known);
  return ok({ kind: "Status", apiVersion: "v1", status: "Success" }, { ...before, nodes });
}

/** The pods of etcd's members, each on its Node. */
function etcdPods({ running }: Asked, { members }: HostClusterState): object[] {
  return members.map(({ name }) => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: `etcd-${name}`,
      namespace: "kube-system",
      labels: { component: "etcd", tier: "control-plane" },
    },
    spec: { nodeName: name, containers: [] },
    status: { conditions: [{ type: "Ready", status: running.has(name) ? "True" : "False" }] },
  }));
}
