import { gunzipSync } from "node:zlib";
import { parse, parseAllDocuments } from "yaml";

/** A certificate and the key that belongs to it, both as PEM. */
export interface KeyPair {
  readonly certificatePem: string;
  readonly privateKeyPem: string;
}

/** The authorities that a member of a control plane brings along. */
export interface Authorities {
  readonly ca: KeyPair;
  readonly etcd: KeyPair;
}

/** With what a host is let in. */
export interface Admission {
  /** "abcdef.0123456789abcdef". */
  readonly token: string;
  readonly caCertHashes: readonly string[];
  /** "10.0.0.1:6443". */
  readonly server: string;
}

/** What a host does first. */
export type FirstStart =
  | { readonly kind: "init"; readonly authorities: Authorities }
  | {
      readonly kind: "joinControlPlane";
      readonly authorities: Authorities;
      readonly admission: Admission;
    }
  | { readonly kind: "joinWorker"; readonly admission: Admission };

/** What of kubeadm's configuration decides. */
interface KubeadmDocument {
  readonly kind?: string;
  readonly controlPlane?: object;
  readonly discovery?: {
    readonly bootstrapToken?: {
      readonly token?: string;
      readonly apiServerEndpoint?: string;
      readonly caCertHashes?: readonly string[];
    };
  };
}

const keyFolder = "/etc/kubernetes/pki";

/** The secret that an instance fetches by its user data; undefined where all is in the user data. Pure. */
export function secretNamedIn(userData: string): string | undefined {
  const fetching = filesIn(unpacked(userData)).find(({ path }) => path.endsWith("/capstan-fetch"));
  return /\bcapstan-[0-9a-f]{32}\b/.exec(fetching?.content ?? "")?.[0];
}

/**
 * Reads what EC2 hands to an instance, as cloud-init and kubeadm would: base64 of packed cloud-config, or of what a store keeps for
 * it, a packed script. Throws an Error for what makes no node of a host. Pure.
 */
export function firstStartOf(told: string): FirstStart {
  const text = unpacked(told);
  const files = text.startsWith("#cloud-config") ? filesIn(text) : filesOfScript(text);
  const documents = parseAllDocuments(fileAt(files, "/etc/kubernetes/kubeadm.yaml")).map(
    (one) => one.toJS() as KubeadmDocument,
  );
  if (documents.some(({ kind }) => kind === "InitConfiguration")) {
    return { kind: "init", authorities: authoritiesIn(files) };
  }
  const join = documents.find(({ kind }) => kind === "JoinConfiguration");
  const { token, apiServerEndpoint, caCertHashes } = join?.discovery?.bootstrapToken ?? {};
  if (token === undefined || apiServerEndpoint === undefined) {
    throw new Error("its user data neither begins a cluster nor joins one");
  }
  const admission = { token, server: apiServerEndpoint, caCertHashes: caCertHashes ?? [] };
  return join?.controlPlane === undefined
    ? { kind: "joinWorker", admission }
    : { kind: "joinControlPlane", admission, authorities: authoritiesIn(files) };
}

interface WrittenFile {
  readonly path: string;
  readonly content: string;
}

function unpacked(packed: string): string {
  return gunzipSync(Buffer.from(packed, "base64")).toString();
}

/** Each file is written by `put` from a here-document in base64. */
function filesOfScript(script: string): readonly WrittenFile[] {
  return [...script.matchAll(/^put '([^']+)' \d+ <<'END'\n([^]*?)^END$/gm)].map(
    ([, path = "", content = ""]) => ({ path, content: Buffer.from(content, "base64").toString() }),
  );
}

function filesIn(text: string): readonly WrittenFile[] {
  const { write_files: files = [] } = parse(text) as {
    readonly write_files?: readonly WrittenFile[];
  };
  return files;
}

function fileAt(files: readonly WrittenFile[], path: string): string {
  const file = files.find((one) => one.path === path);
  if (file === undefined) throw new Error(`its user data writes no ${path}`);
  return file.content;
}

function authoritiesIn(files: readonly WrittenFile[]): Authorities {
  const pair = (name: string): KeyPair => ({
    certificatePem: fileAt(files, `${keyFolder}/${name}.crt`),
    privateKeyPem: fileAt(files, `${keyFolder}/${name}.key`),
  });
  return { ca: pair("ca"), etcd: pair("etcd/ca") };
}
