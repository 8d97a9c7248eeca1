import { stringify } from "yaml";
import type { KeyedCertificate } from "../../src/bootstrap/certificates/certificate.js";
import { issueUserCertificate } from "../../src/bootstrap/certificates/user-certificate.js";
import { adminGroup } from "../../src/bootstrap/kubeconfig/admin-group.js";
import { kubeconfigOf } from "../../src/bootstrap/kubeconfig/kubeconfig.js";
import { Network } from "./network.js";

interface ClientRequest {
  /** Whose servers the client trusts. */
  readonly trusted: KeyedCertificate;
  /** Who has signed its certificate. */
  readonly signer: KeyedCertificate;
}

const ttlMs = 3_600_000;

/** A kubeconfig of an administrator of the cluster behind the endpoint, as Capstan gives it out. Holds a key. */
export async function administrator({ trusted, signer }: ClientRequest): Promise<string> {
  const user = "ada";
  const request = { user, groups: [adminGroup], ttlMs };
  const certificate = await issueUserCertificate({ ca: signer }, request, Date.now());
  const { host, port } = Network.endpoint;
  const config = kubeconfigOf({
    name: "prod",
    user,
    server: `https://${host}:${port}`,
    authorityPem: trusted.certificatePem,
    credential: { kind: "certificate", certificate },
  });
  return stringify(config);
}
