import {
  issueCertificate,
  type KeyedCertificate,
} from "../../../src/bootstrap/certificates/certificate.js";
import { clockSkewMs } from "../../../src/bootstrap/certificates/cluster-keys.js";
import { kubeconfigOf } from "../../../src/bootstrap/kubeconfig/kubeconfig.js";
import ipaddr from "ipaddr.js";
import type { HttpsCredentials } from "./https-client.js";
import { type HostFolder, loopback } from "./host-folder.js";

const ttlMs = 365 * 24 * 60 * 60_000;

/** What a member of a control plane is called, and what its API server answers to beside that. */
interface MemberNames {
  readonly node: string;
  readonly serviceDomain: string;
  /** "10.96.0.0/16", perhaps one of each family with a comma between; empty as long as nobody can tell. */
  readonly serviceCidrs: string;
  readonly extraSans: readonly string[];
}

interface Asked {
  readonly authority: "ca" | "etcd/ca" | "front-proxy-ca";
  readonly commonName: string;
  readonly organizations?: readonly string[];
  readonly usages: readonly ("client" | "server")[];
  readonly sans?: readonly string[];
}

/** Makes the certificates that kubeadm would make on a member, beside the authorities that its user data has brought. */
export async function writeMemberKeys(
  folder: HostFolder,
  names: MemberNames,
  nowMs: number,
): Promise<void> {
  for (const [name, asked] of Object.entries(certificatesOf(names))) {
    const { certificatePem, privateKeyPem } = await issued(folder, asked, nowMs);
    folder.write(`pki/${name}.crt`, certificatePem);
    folder.write(`pki/${name}.key`, privateKeyPem);
  }
}

/** By the name that their files have. Source: https://kubernetes.io/docs/setup/best-practices/certificates/ */
function certificatesOf({ node, serviceDomain, serviceCidrs, extraSans }: MemberNames) {
  const own = ["localhost", node, loopback];
  const etcd = { authority: "etcd/ca", commonName: node, usages: ["client", "server"] } as const;
  const user = (commonName: string, ...organizations: string[]): Asked => ({
    authority: "ca",
    commonName,
    organizations,
    usages: ["client"],
  });
  const services = ["kubernetes", "kubernetes.default", "kubernetes.default.svc"];
  return {
    "etcd/server": { ...etcd, sans: own },
    "etcd/peer": { ...etcd, sans: own },
    "apiserver-etcd-client": {
      authority: "etcd/ca",
      commonName: "kube-apiserver-etcd-client",
      usages: ["client"],
    },
    apiserver: {
      authority: "ca",
      commonName: "kube-apiserver",
      usages: ["server"],
      sans: [
        ...new Set([
          ...own,
          ...services,
          `kubernetes.default.svc.${serviceDomain}`,
          ...serviceCidrs
            .split(",")
            .filter((cidr) => cidr !== "")
            .map(firstAddress),
          ...extraSans,
        ]),
      ],
    },
    "apiserver-kubelet-client": user("kube-apiserver-kubelet-client", "system:masters"),
    "front-proxy-client": {
      authority: "front-proxy-ca",
      commonName: "front-proxy-client",
      usages: ["client"],
    },
    admin: user("kubernetes-admin", "system:masters"),
    "controller-manager": user("system:kube-controller-manager"),
    scheduler: user("system:kube-scheduler"),
    kubelet: user(`system:node:${node}`, "system:nodes"),
    "kubelet-server": {
      authority: "ca",
      commonName: `system:node:${node}`,
      usages: ["server"],
      sans: own,
    },
  } satisfies Record<string, Asked>;
}

async function issued(folder: HostFolder, asked: Asked, nowMs: number): Promise<KeyedCertificate> {
  const { authority, commonName, organizations = [], usages, sans = [] } = asked;
  const signer = authority === "ca" ? signingFile(folder) : `pki/${authority}.crt`;
  const isAddress = (one: string) => ipaddr.isValid(one);
  return issueCertificate(
    { certificatePem: folder.read(signer), privateKeyPem: folder.read(`pki/${authority}.key`) },
    {
      commonName,
      organizations,
      usages,
      algorithm: "ECDSA-P256",
      dnsNames: sans.filter((one) => !isAddress(one)),
      ipAddresses: sans.filter(isAddress),
      validity: { fromMs: nowMs - clockSkewMs, untilMs: nowMs + ttlMs },
    },
  );
}

/** While keys are replaced, the file of authorities holds several, and another one the one that signs. */
export function signingFile(folder: HostFolder): string {
  return folder.has("pki/signing-ca.crt") ? "pki/signing-ca.crt" : "pki/ca.crt";
}

/** Of the range of Services: the API server's own Service has it. Pure. */
function firstAddress(cidr: string): string {
  const [network] = ipaddr.parseCIDR(cidr);
  const bytes = network.toByteArray();
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) + 1;
  return ipaddr.fromByteArray(bytes).toString();
}

/** As whom a file of the folder lets one in at an API server. */
export function credentialsIn(folder: HostFolder, user: string): HttpsCredentials {
  return {
    ca: folder.read("pki/ca.crt"),
    cert: folder.read(`pki/${user}.crt`),
    key: folder.read(`pki/${user}.key`),
  };
}

/** As whom one asks etcd. */
export function etcdCredentialsIn(folder: HostFolder): HttpsCredentials {
  return {
    ca: folder.read("pki/etcd/ca.crt"),
    cert: folder.read("pki/apiserver-etcd-client.crt"),
    key: folder.read("pki/apiserver-etcd-client.key"),
  };
}

/** For programs that read a file of who they are. */
export function writeKubeconfig(folder: HostFolder, user: string, server: string): string {
  const certificate = {
    certificatePem: folder.read(`pki/${user}.crt`),
    privateKeyPem: folder.read(`pki/${user}.key`),
  };
  const config = kubeconfigOf({
    name: "local",
    user,
    server: `https://${server}`,
    authorityPem: folder.read("pki/ca.crt"),
    credential: { kind: "certificate", certificate },
  });
  const name = `${user}.conf`;
  folder.write(name, JSON.stringify(config));
  return folder.at(name);
}
