import { parse } from "yaml";
import { asJson, isJsonObject, type Json, type JsonObject, sameJson } from "../../api/json.js";
import { yamlText } from "./yaml-text.js";
import type { KubeadmObject } from "./configuration.js";

/** The ConfigMap from which kubeadm takes the configuration of every host that joins. */
export const kubeadmConfig = { namespace: "kube-system", name: "kubeadm-config" };
/** The key of the ConfigMap under which the text stands. */
export const clusterConfigurationKey = "ClusterConfiguration";

/**
 * Members of a ClusterConfiguration that Capstan writes while the cluster lives. `clusterName` and `networking` are not
 * among them: kubeadm and the control plane keep those from `kubeadm init` on.
 */
const written = [
  "apiVersion",
  "kubernetesVersion",
  "controlPlaneEndpoint",
  "imageRepository",
  "encryptionAlgorithm",
  "featureGates",
  "apiServer",
  "controllerManager",
  "scheduler",
  "etcd",
  "dns",
] as const;

/** Values that kubeadm fills in, so that leaving them out says the same. Source: its v1beta3 and v1beta4 defaults. */
const defaults: JsonObject = {
  imageRepository: "registry.k8s.io",
  encryptionAlgorithm: "RSA-2048",
  apiServer: { timeoutForControlPlane: "4m0s" },
  etcd: { local: { dataDir: "/var/lib/etcd" } },
};

/** A ConfigMap kubeadm-config that has to change. */
interface KubeadmConfigChange {
  /** The new text of its ClusterConfiguration. */
  readonly text: string;
  /** "kubernetesVersion v1.34.2 -> v1.35.3, apiServer": names of what differs, since arguments may hold secrets. */
  readonly what: string;
}

/**
 * How the ClusterConfiguration of a living cluster changes to say what is wanted; undefined where it says so already.
 * Members that Capstan does not write keep their values (certificatesDir, proxy). Pure. Throws an Error for a text that
 * is no object.
 */
export function changeOfKubeadmConfig(
  present: string,
  wanted: KubeadmObject,
): KubeadmConfigChange | undefined {
  const parsed: unknown = parse(present);
  if (typeof parsed !== "object" || parsed === null) throw new Error("it holds no object");
  const [before, after] = [asJson(parsed), asJson(wanted)];
  const differing = written.filter((name) => !isSame(name, before[name], after[name]));
  if (differing.length === 0) return undefined;
  const kept = Object.entries(before).filter(([name]) => !written.some((one) => one === name));
  const own = written.flatMap((name) => (name in after ? [[name, after[name]]] : []));
  const all = Object.fromEntries([...own, ...kept]) as JsonObject;
  return {
    text: yamlText(all),
    what: differing.map((name) => changeText(name, before[name], after[name])).join(", "),
  };
}

function isSame(name: string, before: Json | undefined, after: Json | undefined): boolean {
  const [one, other] = [before, after].map((value) => withoutDefaults(value, defaults[name]));
  return sameJson(one ?? null, other ?? null);
}

/** Undefined for a value that says no more than its default. Empty objects and lists say nothing. */
function withoutDefaults(value: Json | undefined, known: Json | undefined): Json | undefined {
  if (Array.isArray(value) && value.length === 0) return undefined;
  if (!isJsonObject(value)) return value === known ? undefined : value;
  const members = Object.entries(value).flatMap(([name, member]) => {
    const left = withoutDefaults(member, isJsonObject(known) ? known[name] : undefined);
    return left === undefined ? [] : [[name, left] as const];
  });
  return members.length === 0 ? undefined : Object.fromEntries(members);
}

/** Versions and endpoints are no secrets; of the others the name is enough. */
function changeText(name: string, before: Json | undefined, after: Json | undefined): string {
  const isShown = name === "kubernetesVersion" || name === "apiVersion";
  return isShown ? `${name} ${String(before)} -> ${String(after)}` : name;
}
