import type { HostAdditions } from "../../api/host-additions.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import { filledTemplate } from "../../api/user-data-template.js";
import { minorOf } from "../../api/versions.js";
import type { SoftwareSource } from "../../provider/port.js";
import type { HostKeys } from "../certificates/key-ring.js";
import {
  controllerManagerPatchPath,
  type HostPlaceholder,
  initObjects,
  joinControlPlaneObjects,
  joinWorkerObjects,
  type KubeadmObject,
  kubeletPatchPath,
  placeholderText,
} from "../kubeadm/configuration.js";
import type { ClusterSettings, HostText, JoinSettings, NodeSettings } from "../kubeadm/settings.js";
import type { HostFile } from "./host-file.js";
import { controlPlaneKeyFiles, hasSeveralAuthorities } from "./key-files.js";
import { hostProxy, proxyFiles } from "./proxy.js";
import { bootstrapScript } from "./script.js";
import { containerdFile, type HostSoftware, kernelFiles, sandboxImageOf } from "./software.js";
import { yamlText } from "../kubeadm/yaml-text.js";

/** What a host is to become, and what it needs for that. */
export type HostRole =
  /** kubeadm wants a token, with which nobody joins. A secret. */
  | { readonly kind: "init"; readonly keys: HostKeys; readonly token: string }
  | { readonly kind: "joinControlPlane"; readonly keys: HostKeys; readonly join: JoinSettings }
  | { readonly kind: "joinWorker"; readonly join: JoinSettings };

export interface HostSettings {
  readonly cluster: ClusterSettings;
  readonly node: NodeSettings;
  readonly role: HostRole;
  readonly runtime: HostSoftware["containerRuntime"];
  readonly source: SoftwareSource;
  /** What the user adds. */
  readonly additions?: HostAdditions;
}

/** What makes a node of a host, whatever delivers it: files, and a script among them that root runs once. */
export interface HostBootstrap {
  readonly files: readonly HostFile[];
  /** Path of the script. */
  readonly script: string;
  /** The user's own user data, where `bootstrapScript` is still to be filled in. */
  readonly template?: string;
}

/** Where the script stands that makes a node of a host. */
export const scriptPath = "/usr/local/sbin/capstan-bootstrap";
/** Where kubeadm's configuration stands until it was read. */
export const configurationPath = "/etc/kubernetes/kubeadm.yaml";

/** Pure: the same settings give the same bytes. Holds secrets: keys and tokens. */
export function hostBootstrap(settings: HostSettings): HostBootstrap {
  const { cluster, node, role, source, additions = {} } = settings;
  const verb = role.kind === "init" ? "init" : "join";
  const replaced = replacedIn(node);
  const marks = { name: node.name, annotations: node.annotations ?? {} };
  const proxy = hostProxy(additions, cluster);
  const script = {
    proxy,
    software: softwareOf(settings),
    source,
    verb,
    hasSeveralAuthorities: role.kind === "joinControlPlane" && hasSeveralAuthorities(role.keys),
    replaced,
    marks,
    additions,
  } as const;
  return omitUndefined({
    script: scriptPath,
    template: templateOf(settings),
    files: [
      ...kernelFiles,
      ...(source === "apt" ? runtimeFiles(settings) : []),
      ...proxyFiles(proxy, settings.runtime),
      ...(role.kind === "joinWorker" ? [] : controlPlaneKeyFiles(role.keys)),
      ...patchFiles(node),
      {
        path: configurationPath,
        mode: "0600",
        content: kubeadmText(objectsFor(cluster, node, role)),
      },
      {
        path: scriptPath,
        mode: "0700",
        content: bootstrapScript({ ...script, configuration: configurationPath }),
      },
      ...additionalFiles(additions),
    ],
  });
}

function additionalFiles({ files = [] }: HostAdditions): HostFile[] {
  return files.map(({ path, permissions = "0644", owner, content }) =>
    omitUndefined({ path, mode: permissions.padStart(4, "0"), owner, content }),
  );
}

function templateOf({ cluster, node, role, additions }: HostSettings): string | undefined {
  const { kubernetesVersion, kubeletVersion = kubernetesVersion } = node;
  return (
    additions?.template &&
    filledTemplate(additions.template, {
      clusterName: cluster.name,
      role: role.kind === "joinWorker" ? "worker" : "controlPlane",
      kubernetesVersion,
      kubeletVersion,
    })
  );
}

/** What runs on a host of such settings. Pure. */
export function softwareOf({
  node: { kubernetesVersion: kubeadm, kubeletVersion: kubelet = kubeadm },
  runtime,
}: Pick<HostSettings, "node" | "runtime">): HostSoftware {
  return { kubeadm, kubelet, containerRuntime: runtime };
}

/** The configuration of a runtime that came as a package: cri-o's own is right. Pure. */
export function runtimeFiles(settings: Pick<HostSettings, "node" | "runtime">): HostFile[] {
  const { kubelet, containerRuntime } = softwareOf(settings);
  if (containerRuntime.name !== "containerd") return [];
  const image = sandboxImageOf(minorOf(kubelet) ?? 0, settings.node.imageRepository);
  return [containerdFile(containerRuntime.version, image)];
}

/** kubeadm puts them over what it writes itself. Pure. */
export function patchFiles({
  kubeletConfiguration,
  controllerManagerArgs,
}: NodeSettings): HostFile[] {
  const patch = (path: string, content: unknown): HostFile[] =>
    content === undefined ? [] : [{ path, mode: "0644", content: yamlText(content) }];
  const added = Object.entries(controllerManagerArgs ?? {}).map(([name, value]) => ({
    op: "add",
    path: "/spec/containers/0/command/-",
    value: `--${name}=${value}`,
  }));
  return [
    ...patch(kubeletPatchPath, kubeletConfiguration),
    ...patch(controllerManagerPatchPath, added.length === 0 ? undefined : added),
  ];
}

function replacedIn({ name, address, providerId }: NodeSettings) {
  const texts = Object.entries({ name, address, providerId }) as [HostPlaceholder, HostText?][];
  return texts.flatMap(([what, value]) =>
    typeof value === "object" ? [{ text: placeholderText(what), command: value.command }] : [],
  );
}

function objectsFor(cluster: ClusterSettings, node: NodeSettings, role: HostRole): KubeadmObject[] {
  switch (role.kind) {
    case "init":
      return initObjects(cluster, node, role.token);
    case "joinControlPlane":
      return joinControlPlaneObjects(cluster, node, role.join);
    case "joinWorker":
      return joinWorkerObjects(cluster, node, role.join);
  }
}

/** Objects as documents of one text. Pure. */
function kubeadmText(objects: readonly KubeadmObject[]): string {
  return objects.map((object) => yamlText(object)).join("---\n");
}
