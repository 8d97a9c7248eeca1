import { isJsonObject, type Json, type JsonObject } from "../../../src/api/json.js";
import { argumentsIn } from "./node-order.js";
import { type HostFolder, type HostPorts, loopback } from "./host-folder.js";
import { signingFile } from "./member-keys.js";

/** What runs on a member of a control plane. */
export const memberPrograms = [
  "etcd",
  "kube-apiserver",
  "kube-controller-manager",
  "kube-scheduler",
] as const;

/** A program of a host as it is started. */
export interface ProgramCommand {
  readonly program: (typeof memberPrograms)[number];
  readonly args: readonly string[];
}

/** What a program is told, by the names of its flags. */
type Flags = Readonly<Record<string, string>>;

/** What the programs of a member have in common. */
export interface MemberSetup {
  readonly folder: HostFolder;
  readonly ports: HostPorts;
  readonly node: string;
  /** kubeadm's ClusterConfiguration. */
  readonly cluster: JsonObject;
}

/** How a member of etcd begins: the first one by itself, a further one with those that know of it already. */
export interface EtcdStart {
  readonly state: "new" | "existing";
  /** "cp-0=https://127.0.0.1:43211,cp-1=...", itself among them. */
  readonly members: string;
}

/** Where other members of etcd reach that of a host. Pure. */
export function peerUrlOf({ etcdPeers }: HostPorts): string {
  return `https://${loopback}:${etcdPeers}`;
}

/** Where its clients do. Pure. */
export function clientUrlOf({ etcd }: HostPorts): string {
  return `https://${loopback}:${etcd}`;
}

/** Pure. Source: https://etcd.io/docs/v3.6/op-guide/configuration/ */
export function etcdCommand(
  { folder, ports, node }: MemberSetup,
  start: EtcdStart,
): ProgramCommand {
  const key = (name: string) => folder.at("pki", "etcd", name);
  return command("etcd", {
    name: node,
    "data-dir": folder.at("etcd"),
    "listen-client-urls": clientUrlOf(ports),
    "advertise-client-urls": clientUrlOf(ports),
    "listen-peer-urls": peerUrlOf(ports),
    "initial-advertise-peer-urls": peerUrlOf(ports),
    "initial-cluster": start.members,
    "initial-cluster-state": start.state,
    "cert-file": key("server.crt"),
    "key-file": key("server.key"),
    "client-cert-auth": "true",
    "trusted-ca-file": key("ca.crt"),
    "peer-cert-file": key("peer.crt"),
    "peer-key-file": key("peer.key"),
    "peer-client-cert-auth": "true",
    "peer-trusted-ca-file": key("ca.crt"),
    "log-level": "warn",
  });
}

/** How long an API server still answers after it was asked to end, so that its load balancer has turned away from it. */
const shutdownDelay = "2s";

/** Pure. Sources: https://kubernetes.io/docs/reference/command-line-tools-reference/kube-apiserver/, and what kubeadm writes. */
export function apiServerCommand({ folder, ports, cluster }: MemberSetup): ProgramCommand {
  const key = (name: string) => folder.at("pki", name);
  return command(
    "kube-apiserver",
    {
      "advertise-address": loopback,
      "bind-address": loopback,
      "secure-port": String(ports.api),
      // Its address is that of every other member.
      "endpoint-reconciler-type": "none",
      "authorization-mode": "Node,RBAC",
      "enable-admission-plugins": "NodeRestriction",
      "enable-bootstrap-token-auth": "true",
      "client-ca-file": key("ca.crt"),
      "tls-cert-file": key("apiserver.crt"),
      "tls-private-key-file": key("apiserver.key"),
      "etcd-servers": clientUrlOf(ports),
      "etcd-cafile": key("etcd/ca.crt"),
      "etcd-certfile": key("apiserver-etcd-client.crt"),
      "etcd-keyfile": key("apiserver-etcd-client.key"),
      "kubelet-client-certificate": key("apiserver-kubelet-client.crt"),
      "kubelet-client-key": key("apiserver-kubelet-client.key"),
      "kubelet-preferred-address-types": "InternalIP",
      "proxy-client-cert-file": key("front-proxy-client.crt"),
      "proxy-client-key-file": key("front-proxy-client.key"),
      "requestheader-client-ca-file": key("front-proxy-ca.crt"),
      "requestheader-allowed-names": "front-proxy-client",
      "requestheader-extra-headers-prefix": "X-Remote-Extra-",
      "requestheader-group-headers": "X-Remote-Group",
      "requestheader-username-headers": "X-Remote-User",
      "service-account-issuer": `https://kubernetes.default.svc.${networkingOf(cluster, "dnsDomain")}`,
      "service-account-key-file": key("sa.pub"),
      "service-account-signing-key-file": key("sa.key"),
      "service-cluster-ip-range": networkingOf(cluster, "serviceSubnet"),
      "shutdown-delay-duration": shutdownDelay,
      "cert-dir": folder.at("run"),
    },
    extraArgs(cluster, "apiServer"),
  );
}

/** Pure. */
export function controllerManagerCommand(setup: MemberSetup, kubeconfig: string): ProgramCommand {
  const { folder, ports, cluster } = setup;
  const key = (name: string) => folder.at("pki", name);
  return command(
    "kube-controller-manager",
    {
      ...delegating(kubeconfig),
      "bind-address": loopback,
      "secure-port": String(ports.controllers),
      "cert-dir": folder.at("run"),
      "client-ca-file": key("ca.crt"),
      "requestheader-client-ca-file": key("front-proxy-ca.crt"),
      "cluster-name": textOf(cluster["clusterName"]),
      "cluster-cidr": networkingOf(cluster, "podSubnet"),
      "allocate-node-cidrs": "true",
      "service-cluster-ip-range": networkingOf(cluster, "serviceSubnet"),
      "cluster-signing-cert-file": folder.at(signingFile(folder)),
      "cluster-signing-key-file": key("ca.key"),
      "root-ca-file": key("ca.crt"),
      "service-account-private-key-file": key("sa.key"),
      "use-service-account-credentials": "true",
      controllers: "*,bootstrapsigner,tokencleaner",
      "leader-elect": "true",
    },
    extraArgs(cluster, "controllerManager"),
  );
}

/** Pure. */
export function schedulerCommand(setup: MemberSetup, kubeconfig: string): ProgramCommand {
  return command(
    "kube-scheduler",
    {
      ...delegating(kubeconfig),
      "bind-address": loopback,
      "secure-port": String(setup.ports.scheduler),
      "cert-dir": setup.folder.at("run"),
      "leader-elect": "true",
    },
    extraArgs(setup.cluster, "scheduler"),
  );
}

function delegating(kubeconfig: string): Flags {
  return {
    kubeconfig,
    "authentication-kubeconfig": kubeconfig,
    "authorization-kubeconfig": kubeconfig,
  };
}

/** What the user adds counts. */
function command(
  program: ProgramCommand["program"],
  own: Flags,
  added: readonly [string, string][] = [],
): ProgramCommand {
  const flags = { ...own, ...Object.fromEntries(added) };
  return {
    program,
    args: Object.entries(flags).map(([name, value]) => `--${name}=${value}`),
  };
}

function extraArgs(cluster: JsonObject, component: string): [string, string][] {
  const part = cluster[component];
  return isJsonObject(part) ? argumentsIn(part["extraArgs"]) : [];
}

/** Pure. */
export function networkingOf(cluster: JsonObject, field: string): string {
  const networking = cluster["networking"];
  return isJsonObject(networking) ? textOf(networking[field]) : "";
}

function textOf(value: Json | undefined): string {
  return typeof value === "string" ? value : "";
}
