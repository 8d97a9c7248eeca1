import { createPrivateKey, type KeyObject, webcrypto } from "node:crypto";
import type { KeyAlgorithm } from "../../api/key-algorithm.js";

type KeyParameters = (webcrypto.EcKeyGenParams | webcrypto.RsaHashedKeyGenParams) & {
  readonly hash: string;
};

const rsa = (modulusLength: number): KeyParameters => ({
  name: "RSASSA-PKCS1-v1_5",
  modulusLength,
  publicExponent: new Uint8Array([1, 0, 1]),
  hash: "SHA-256",
});

const parametersOf: Readonly<Record<KeyAlgorithm, KeyParameters>> = {
  "ECDSA-P256": { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" },
  "RSA-2048": rsa(2048),
  "RSA-4096": rsa(4096),
};

/** A key pair that certificates are made for or with. */
export interface SigningKeys extends webcrypto.CryptoKeyPair {
  readonly parameters: KeyParameters;
}

/** A new pair. Random. */
export async function newKeys(algorithm: KeyAlgorithm): Promise<SigningKeys> {
  const parameters = parametersOf[algorithm];
  const usages = ["sign", "verify"] as const;
  const pair = await webcrypto.subtle.generateKey(parameters, true, usages);
  return { ...pair, parameters };
}

/**
 * The private key in a PEM text: PKCS #8, or what openssl and kubeadm write. Throws an Error for anything
 * else, without the text in its message.
 */
export async function importPrivateKey(
  pem: string,
): Promise<{ readonly key: webcrypto.CryptoKey; readonly parameters: KeyParameters }> {
  const object = createPrivateKey(pem);
  const parameters = parametersOf[algorithmOf(object)];
  const der = object.export({ type: "pkcs8", format: "der" });
  const key = await webcrypto.subtle.importKey("pkcs8", der, parameters, true, ["sign"]);
  return { key, parameters };
}

/** The private key as PKCS #8 in PEM. A secret. */
export async function privateKeyPem({ privateKey }: webcrypto.CryptoKeyPair): Promise<string> {
  const der = Buffer.from(await webcrypto.subtle.exportKey("pkcs8", privateKey));
  return createPrivateKey({ key: der, format: "der", type: "pkcs8" })
    .export({ type: "pkcs8", format: "pem" })
    .toString();
}

/** Whether certificates can be signed with a key: on P-256, or of RSA. Pure. */
export function canSign(key: KeyObject): boolean {
  return signingAlgorithmOf(key) !== undefined;
}

function algorithmOf(key: KeyObject): KeyAlgorithm {
  const algorithm = signingAlgorithmOf(key);
  if (algorithm !== undefined) return algorithm;
  throw new Error(`keys of type ${String(key.asymmetricKeyType)} cannot sign here`);
}

function signingAlgorithmOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject) {
  if (asymmetricKeyType === "rsa") {
    return asymmetricKeyDetails?.modulusLength === 4096 ? "RSA-4096" : "RSA-2048";
  }
  return asymmetricKeyDetails?.namedCurve === "prime256v1" ? "ECDSA-P256" : undefined;
}
