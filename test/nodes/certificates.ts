import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { parse } from "yaml";
import type { HostShell } from "../../providers/local/kubeadm/host-shell.js";
import { assertServes } from "./serving.js";
import { untilTrue } from "./until-true.js";

/** The authority that clients trust by the file of a kubeconfig. */
export function authorityIn(kubeconfig: string): X509Certificate {
  const {
    clusters: [{ cluster }],
  } = parse(readFileSync(kubeconfig, "utf8")) as {
    readonly clusters: readonly [{ readonly cluster: Readonly<Record<string, string>> }];
  };
  const data = cluster["certificate-authority-data"] ?? "";
  return new X509Certificate(Buffer.from(data, "base64"));
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
