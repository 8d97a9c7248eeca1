import { parse, parseAllDocuments } from "yaml";
import { isJsonObject, type Json, type JsonObject } from "../../../src/api/json.js";

/** What the user data of a host asks for, as kubeadm would read it there. */
export interface NodeOrder {
  readonly role: "init" | "joinControlPlane" | "joinWorker";
  /** Contents of files in kubeadm's folder of keys, by their names in it. Secrets among them. */
  readonly keys: ReadonlyMap<string, string>;
  /** kubeadm's ClusterConfiguration: of the first member alone, whom the others ask for it. */
  readonly cluster: JsonObject | undefined;
  /** "127.0.0.1:43210": of a host that joins. */
  readonly server: string;
  /** A secret: of a host that joins. */
  readonly token: string;
  /** "sha256:..." of authorities' public keys: of a host that joins. */
  readonly caCertHashes: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Json[];
}

const keyFolder = "/etc/kubernetes/pki/";
const configurationPath = "/etc/kubernetes/kubeadm.yaml";

/** Pure. Throws an Error for user data that makes no node. */
export function nodeOrderOf(userData: string): NodeOrder {
  const files = filesIn(userData);
  const objects = parseAllDocuments(files.get(configurationPath) ?? "").map(
    (document) => document.toJS() as Json,
  );
  const object = (kind: string) =>
    objects.find((one): one is JsonObject => isJsonObject(one) && one["kind"] === kind);
  const [init, join] = [object("InitConfiguration"), object("JoinConfiguration")];
  const first = init ?? join;
  if (first === undefined) throw new Error(`there is no ${configurationPath} in the user data`);
  const registration = memberOf(first, "nodeRegistration");
  const discovery = memberOf(memberOf(join ?? {}, "discovery"), "bootstrapToken");
  const { taints = [] } = registration;
  return {
    role:
      init !== undefined
        ? "init"
        : first["controlPlane"] === undefined
          ? "joinWorker"
          : "joinControlPlane",
    keys: new Map(
      [...files].flatMap(([path, content]): [string, string][] =>
        path.startsWith(keyFolder) ? [[path.slice(keyFolder.length), content]] : [],
      ),
    ),
    cluster: object("ClusterConfiguration"),
    server: String(discovery["apiServerEndpoint"] ?? ""),
    token: String(discovery["token"] ?? ""),
    caCertHashes: listOf(discovery["caCertHashes"]).map(String),
    labels: labelsIn(argumentIn(registration["kubeletExtraArgs"], "node-labels") ?? ""),
    taints: listOf(taints),
  };
}

function filesIn(userData: string): Map<string, string> {
  const config = parse(userData) as Json;
  const files = isJsonObject(config) ? listOf(config["write_files"]) : [];
  return new Map(
    files
      .filter(isJsonObject)
      .map(({ path, content }): [string, string] => [String(path), String(content)]),
  );
}

function memberOf(object: JsonObject, name: string): JsonObject {
  const member = object[name];
  return isJsonObject(member) ? member : {};
}

function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? (value as readonly Json[]) : [];
}

/** One of kubeadm's extra arguments: a map before v1beta4, a list of names and values since. Pure. */
function argumentIn(args: Json | undefined, name: string): string | undefined {
  return argumentsIn(args).find(([own]) => own === name)?.[1];
}

/** Pure. */
export function argumentsIn(args: Json | undefined): [string, string][] {
  if (isJsonObject(args)) return Object.entries(args).map(([name, value]) => [name, String(value)]);
  return listOf(args)
    .filter(isJsonObject)
    .map(({ name, value }) => [String(name), String(value)]);
}

function labelsIn(text: string): Record<string, string> {
  const pairs = text.split(",").filter((pair) => pair !== "");
  return Object.fromEntries(
    pairs.map((pair) => {
      const [name = "", value = ""] = pair.split("=");
      return [name, value];
    }),
  );
}
