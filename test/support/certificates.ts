import { execFileSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

/** Writes a private key (P-256, PEM) and returns its file. */
export function writeKey(file: string): string {
  const { privateKey } = generateKeyPairSync("ec", {
    namedCurve: "P-256",
    publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "sec1", format: "pem" },
  });
  writeFileSync(file, privateKey, { mode: 0o600 });
  return file;
}

/** Files of PEM. */
export interface ServerCertificate {
  readonly authority: string;
  readonly certificate: string;
  readonly key: string;
}

/** An authority of its own and a certificate by it for a server on loopback, both for two days. */
export function writeServerCertificate(folder: string): ServerCertificate {
  const at = (name: string) => join(folder, name);
  const openssl = (...args: string[]) =>
    void execFileSync("openssl", args, { stdio: ["ignore", "ignore", "pipe"] });
  const authorityKey = writeKey(at("authority.key"));
  const key = writeKey(at("server.key"));
  openssl(
    "req",
    "-x509",
    "-new",
    "-key",
    authorityKey,
    "-subj",
    "/CN=test authority",
    "-days",
    "2",
    "-out",
    at("authority.crt"),
  );
  openssl("req", "-new", "-key", key, "-subj", "/CN=server", "-out", at("server.csr"));
  writeFileSync(at("server.ext"), "subjectAltName=IP:127.0.0.1,DNS:localhost\n");
  openssl(
    "x509",
    "-req",
    "-in",
    at("server.csr"),
    "-CA",
    at("authority.crt"),
    "-CAkey",
    authorityKey,
    "-set_serial",
    "1",
    "-days",
    "2",
    "-extfile",
    at("server.ext"),
    "-out",
    at("server.crt"),
  );
  return { authority: at("authority.crt"), certificate: at("server.crt"), key };
}
