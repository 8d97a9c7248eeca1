import type { KeyedCertificate } from "../certificates/certificate.js";
import type { ClusterKeys } from "../certificates/cluster-keys.js";
import type { HostFile } from "./host-file.js";

/** Where kubeadm looks for a cluster's keys on a control-plane host. Pure. */
export function controlPlaneKeyFiles(keys: ClusterKeys): HostFile[] {
  const pair = (name: string, { certificatePem, privateKeyPem }: KeyedCertificate): HostFile[] => [
    publicFile(`${name}.crt`, certificatePem),
    secretFile(`${name}.key`, privateKeyPem),
  ];
  return [
    ...pair("ca", keys.ca),
    ...pair("etcd/ca", keys.etcd),
    ...pair("front-proxy-ca", keys.frontProxy),
    publicFile("sa.pub", keys.serviceAccount.publicKeyPem),
    secretFile("sa.key", keys.serviceAccount.privateKeyPem),
  ];
}

export const keyFolder = "/etc/kubernetes/pki";

function publicFile(name: string, content: string): HostFile {
  return { path: `${keyFolder}/${name}`, mode: "0644", content };
}

function secretFile(name: string, content: string): HostFile {
  return { path: `${keyFolder}/${name}`, mode: "0600", content };
}
