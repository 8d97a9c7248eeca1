import { type HostKeys, trustedAccountsPem, trustedPem } from "../certificates/key-ring.js";
import type { HostFile } from "./host-file.js";

/** Where kubeadm looks for a cluster's keys on a control-plane host. Pure. */
export function controlPlaneKeyFiles(keys: HostKeys): HostFile[] {
  const pair = (file: string, name: "ca" | "etcd" | "frontProxy"): HostFile[] => [
    publicFile(`${file}.crt`, trustedPem(keys, name)),
    secretFile(`${file}.key`, keys[name].privateKeyPem),
  ];
  return [
    ...pair("ca", "ca"),
    ...pair("etcd/ca", "etcd"),
    ...pair("front-proxy-ca", "frontProxy"),
    publicFile("sa.pub", trustedAccountsPem(keys)),
    secretFile("sa.key", keys.serviceAccount.privateKeyPem),
    ...(hasSeveralAuthorities(keys)
      ? [publicFile(signingFile, certificatesIn(keys.ca.certificatePem)[0] ?? "")]
      : []),
  ];
}

export const keyFolder = "/etc/kubernetes/pki";

/** Beside an authority file with several certificates: the one that signs. */
const signingFile = "signing-ca.crt";

/** Whether a member takes certificates of more authorities than that which it signs with. Pure. */
export function hasSeveralAuthorities(keys: HostKeys): boolean {
  return certificatesIn(trustedPem(keys, "ca")).length > 1;
}

/** The certificates of a PEM text, one by one. Pure. */
export function certificatesIn(pem: string): string[] {
  return pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n?/g) ?? [];
}

/**
 * Arguments of a controller manager that takes certificates of several authorities: it signs with one, and takes no
 * file with several for that. None for one. Pure. Source: ca_provider.go of kube-controller-manager.
 */
export function signingArgs(keys: HostKeys): Readonly<Record<string, string>> | undefined {
  if (!hasSeveralAuthorities(keys)) return undefined;
  return { "cluster-signing-cert-file": `${keyFolder}/${signingFile}` };
}

function publicFile(name: string, content: string): HostFile {
  return { path: `${keyFolder}/${name}`, mode: "0644", content };
}

function secretFile(name: string, content: string): HostFile {
  return { path: `${keyFolder}/${name}`, mode: "0600", content };
}
