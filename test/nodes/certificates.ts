import { X509Certificate } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { parse, stringify } from "yaml";
import type { HostShell } from "../../providers/local/kubeadm/host-shell.js";
import { newClusterKeys } from "../../src/bootstrap/certificates/cluster-keys.js";
import { issueUserCertificate } from "../../src/bootstrap/certificates/user-certificate.js";
import { adminGroup } from "../../src/bootstrap/kubeconfig/admin-group.js";
import { kubeconfigOf } from "../../src/bootstrap/kubeconfig/kubeconfig.js";
import { assertServes } from "./serving.js";
import { untilTrue } from "./until-true.js";

/** The part of a kubeconfig that says which server its client trusts. */
interface Kubeconfig {
  readonly clusters: readonly [
    {
      readonly cluster: {
        readonly server: string;
        readonly "certificate-authority-data": string;
      };
    },
  ];
}

interface TrustedServer {
  readonly server: string;
  readonly authorityPem: string;
}

function trustedServerIn(kubeconfig: string): TrustedServer {
  const { clusters } = parse(readFileSync(kubeconfig, "utf8")) as Kubeconfig;
  const [{ cluster }] = clusters;
  const { server, "certificate-authority-data": data } = cluster;
  return { server, authorityPem: Buffer.from(data, "base64").toString() };
}

/** The authority that clients trust by the file of a kubeconfig. */
export function authorityIn(kubeconfig: string): X509Certificate {
  return new X509Certificate(trustedServerIn(kubeconfig).authorityPem);
}

/**
 * Writes another kubeconfig beside one: an administrator of the same server, whose certificate an authority that the server does not
 * know has signed. Returns its path.
 */
export async function otherAdministrator(kubeconfig: string): Promise<string> {
  const keys = await newClusterKeys(Date.now(), "ECDSA-P256");
  const user = "ada";
  const request = { user, groups: [adminGroup], ttlMs: 3_600_000 };
  const certificate = await issueUserCertificate(keys, request, Date.now());
  const config = kubeconfigOf({
    name: "prod",
    user,
    ...trustedServerIn(kubeconfig),
    credential: { kind: "certificate", certificate },
  });
  const file = `${kubeconfig}.other`;
  writeFileSync(file, stringify(config), { mode: 0o600 });
  return file;
}

/** The certificate that a member's API server shows. */
export async function servedCertificate(member: HostShell): Promise<X509Certificate> {
  const asking = "openssl s_client -connect localhost:6443 < /dev/null 2> /dev/null | openssl x509";
  return new X509Certificate(await member.run("sh", "-c", asking));
}

/** Has kubeadm renew all certificates of a member, and waits until its API server serves with a new one. */
export async function renewCertificates(member: HostShell): Promise<void> {
  const before = await servedCertificate(member);
  await member.run("kubeadm", "certs", "renew", "all");
  // etcd reads its certificates for each connection. The kubelet starts again what has ended; an API server
  // that is asked to end waits for its watches.
  await member.run("pkill", "-KILL", "-f", "^kube-(apiserver|controller-manager|scheduler) ");
  await untilTrue("a member serves with a new certificate", async () => {
    const { serialNumber } = await servedCertificate(member);
    await assertServes(member);
    return serialNumber !== before.serialNumber;
  });
}
