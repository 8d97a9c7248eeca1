import { createHash, type KeyObject, type webcrypto, X509Certificate } from "node:crypto";
import type { KeyAlgorithm } from "../../api/key-algorithm.js";
import { importPrivateKey, newKeys, privateKeyPem, type SigningKeys } from "./key-pair.js";

/** A certificate and its key, both as PEM. The key is a secret. */
export interface KeyedCertificate {
  readonly certificatePem: string;
  readonly privateKeyPem: string;
}

/** From when to when a certificate counts, milliseconds since the epoch. */
interface Validity {
  readonly fromMs: number;
  readonly untilMs: number;
}

interface AuthorityRequest {
  readonly commonName: string;
  readonly algorithm: KeyAlgorithm;
  readonly validity: Validity;
}

/** What a certificate is asked for. Kubernetes takes the common name for a user, organizations for its groups. */
interface CertificateRequest extends AuthorityRequest {
  readonly organizations?: readonly string[];
  readonly usages: readonly ("client" | "server")[];
  readonly dnsNames?: readonly string[];
  readonly ipAddresses?: readonly string[];
}

/** Loaded when a certificate is made: most commands make none, and its parts take a tenth of a second. */
async function x509() {
  await import("reflect-metadata");
  return import("@peculiar/x509");
}

/** A new authority, signed by itself, that may sign certificates but no other authority. Random. */
export async function newAuthority(request: AuthorityRequest): Promise<KeyedCertificate> {
  const keys = await newKeys(request.algorithm);
  return signed(request, keys, { key: keys.privateKey, parameters: keys.parameters });
}

/** A new certificate of an authority. Random. Throws an Error for an authority whose key is none. */
export async function issueCertificate(
  authority: KeyedCertificate,
  request: CertificateRequest,
): Promise<KeyedCertificate> {
  const keys = await newKeys(request.algorithm);
  const signer = await importPrivateKey(authority.privateKeyPem);
  return signed(request, keys, signer, { authority, request });
}

interface Signer {
  readonly key: webcrypto.CryptoKey;
  readonly parameters: SigningKeys["parameters"];
}

interface Issued {
  readonly authority: KeyedCertificate;
  readonly request: CertificateRequest;
}

async function signed(
  { commonName, validity }: AuthorityRequest,
  keys: SigningKeys,
  { key, parameters }: Signer,
  issued?: Issued,
): Promise<KeyedCertificate> {
  const lib = await x509();
  const groups = issued?.request.organizations ?? [];
  // Never by way of a text: a comma in a name would make another name of it.
  const named = (attribute: string, utf8String: string) => ({ [attribute]: [{ utf8String }] });
  const subject = new lib.Name([...groups.map((one) => named("O", one)), named("CN", commonName)]);
  const issuer =
    issued === undefined
      ? subject
      : new lib.X509Certificate(issued.authority.certificatePem).subjectName;
  const certificate = await lib.X509CertificateGenerator.create({
    subject,
    issuer,
    notBefore: new Date(validity.fromMs),
    notAfter: new Date(validity.untilMs),
    publicKey: keys.publicKey,
    signingKey: key,
    signingAlgorithm: parameters,
    extensions: await extensionsOf(lib, keys, issued),
  });
  return {
    certificatePem: `${certificate.toString("pem")}\n`,
    privateKeyPem: await privateKeyPem(keys),
  };
}

async function extensionsOf(
  lib: Awaited<ReturnType<typeof x509>>,
  { publicKey }: SigningKeys,
  issued: Issued | undefined,
) {
  const { KeyUsageFlags: flags, ExtendedKeyUsage } = lib;
  const identifier = await lib.SubjectKeyIdentifierExtension.create(publicKey);
  if (issued === undefined) {
    return [
      new lib.BasicConstraintsExtension(true, 0, true),
      new lib.KeyUsagesExtension(flags.keyCertSign | flags.digitalSignature | flags.cRLSign, true),
      identifier,
    ];
  }
  const { authority, request } = issued;
  const { dnsNames = [], ipAddresses = [] } = request;
  const names = [
    ...dnsNames.map((value) => ({ type: "dns", value }) as const),
    ...ipAddresses.map((value) => ({ type: "ip", value }) as const),
  ];
  const usages = request.usages.map((usage) =>
    usage === "client" ? ExtendedKeyUsage.clientAuth : ExtendedKeyUsage.serverAuth,
  );
  const issuer = new lib.X509Certificate(authority.certificatePem);
  return [
    new lib.BasicConstraintsExtension(false, undefined, true),
    new lib.KeyUsagesExtension(flags.digitalSignature | flags.keyEncipherment, true),
    new lib.ExtendedKeyUsageExtension(usages),
    await lib.AuthorityKeyIdentifierExtension.create(issuer.publicKey),
    identifier,
    ...(names.length > 0 ? [new lib.SubjectAlternativeNameExtension(names)] : []),
  ];
}

/** How kubeadm recognizes an authority: "sha256:" and 64 hexadecimal digits of its public key. Pure. */
export function publicKeyHash(certificatePem: string): string {
  return keyHash(new X509Certificate(certificatePem).publicKey);
}

/** The same of a public key by itself. Pure. */
export function keyHash(publicKey: KeyObject): string {
  const der = publicKey.export({ type: "spki", format: "der" });
  return `sha256:${createHash("sha256").update(der).digest("hex")}`;
}

/** From when to when a certificate counts. Pure. Throws an Error for a text that is none. */
export function validityOf(certificatePem: string): Validity {
  const { validFromDate, validToDate } = new X509Certificate(certificatePem);
  return { fromMs: validFromDate.getTime(), untilMs: validToDate.getTime() };
}
