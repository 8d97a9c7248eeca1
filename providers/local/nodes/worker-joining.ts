import { setTimeout as sleep } from "node:timers/promises";
import { parse } from "yaml";
import { publicKeyHash } from "../../../src/bootstrap/certificates/certificate.js";
import { newKeys, privateKeyPem } from "../../../src/bootstrap/certificates/key-pair.js";
import { certificatesIn } from "../../../src/bootstrap/host/key-files.js";
import { HttpsClient } from "./https-client.js";
import type { HostFolder } from "./host-folder.js";
import type { NodeOrder } from "./node-order.js";

const signer = "kubernetes.io/kube-apiserver-client-kubelet";
const requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const signedWithinMs = 30_000;
const pollMs = 250;

interface SigningRequest {
  readonly metadata: { readonly name: string };
  readonly status?: { readonly certificate?: string };
}

/**
 * A worker gets to know its cluster by the digest of its authority, and a certificate by its token, as kubeadm does it. Throws an
 * Error where the cluster is another one, and while it does not answer or sign.
 * Source: https://kubernetes.io/docs/reference/access-authn-authz/kubelet-tls-bootstrapping/
 */
export async function joinAsWorker(
  folder: HostFolder,
  order: NodeOrder,
  node: string,
): Promise<void> {
  const authoritiesPem = await discovered(order);
  const api = new HttpsClient(order.server, { ca: authoritiesPem, bearer: order.token });
  try {
    const { certificate, key } = await signed(api, node);
    folder.write("pki/ca.crt", authoritiesPem);
    folder.write("pki/kubelet.key", key);
    // Whoever finds the certificate finds the rest.
    folder.write("pki/kubelet.crt", certificate);
  } finally {
    api.close();
  }
}

async function discovered({ server, caCertHashes }: NodeOrder): Promise<string> {
  const anybody = new HttpsClient(server, {});
  try {
    const { data } = await anybody.get<{ readonly data: { readonly kubeconfig: string } }>(
      "/api/v1/namespaces/kube-public/configmaps/cluster-info",
    );
    const { clusters } = parse(data.kubeconfig) as {
      clusters: { cluster: { "certificate-authority-data": string } }[];
    };
    const encoded = clusters[0]?.cluster["certificate-authority-data"] ?? "";
    const pem = Buffer.from(encoded, "base64").toString();
    const isNamed = (one: string) => caCertHashes.includes(publicKeyHash(one));
    if (certificatesIn(pem).some(isNamed)) return pem;
    throw new Error(`${server} is another cluster: its authority is none of those that were named`);
  } finally {
    anybody.close();
  }
}

async function signed(api: HttpsClient, node: string) {
  const { pem, key } = await requestFor(node);
  const { metadata } = await api.post<SigningRequest>(requests, {
    metadata: { generateName: "node-csr-" },
    spec: {
      request: Buffer.from(pem).toString("base64"),
      signerName: signer,
      usages: ["digital signature", "client auth"],
    },
  });
  for (const untilMs = Date.now() + signedWithinMs; Date.now() < untilMs; await sleep(pollMs)) {
    const { status } = await api.get<SigningRequest>(`${requests}/${metadata.name}`);
    if (status?.certificate === undefined) continue;
    return { certificate: Buffer.from(status.certificate, "base64").toString(), key };
  }
  throw new Error("nobody has signed its certificate");
}

async function requestFor(node: string) {
  await import("reflect-metadata");
  const x509 = await import("@peculiar/x509");
  const keys = await newKeys("ECDSA-P256");
  const request = await x509.Pkcs10CertificateRequestGenerator.create({
    name: new x509.Name([
      { O: [{ utf8String: "system:nodes" }] },
      { CN: [{ utf8String: `system:node:${node}` }] },
    ]),
    keys,
    signingAlgorithm: keys.parameters,
  });
  return { pem: request.toString("pem"), key: await privateKeyPem(keys) };
}
