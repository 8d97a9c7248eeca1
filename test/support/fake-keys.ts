import { newAuthority } from "../../src/bootstrap/certificates/certificate.js";
import type { ClusterKeys } from "../../src/bootstrap/certificates/cluster-keys.js";

/** A few for all of them: making keys takes long. */
const authorities = await Promise.all(
  Array.from({ length: 7 }, () =>
    newAuthority({
      commonName: "kubernetes",
      algorithm: "ECDSA-P256",
      validity: { fromMs: 0, untilMs: Date.UTC(2049, 0) },
    }),
  ),
);

/** Keys of which all are the same, told apart by their number: what stands before a PEM is skipped. */
export function fakeKeys(number: number): ClusterKeys {
  const authority = authorities[number % authorities.length]!;
  const pair = (name: string) => ({
    certificatePem: `${name} ${number}\n${authority.certificatePem}`,
    privateKeyPem: `key of ${name} ${number}\n${authority.privateKeyPem}`,
  });
  const { certificatePem: publicKeyPem, privateKeyPem } = pair("sa");
  const serviceAccount = { publicKeyPem, privateKeyPem };
  return { ca: pair("ca"), etcd: pair("etcd"), frontProxy: pair("front proxy"), serviceAccount };
}
