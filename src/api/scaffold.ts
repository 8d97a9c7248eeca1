import { stringify } from "yaml";
import { CapstanError } from "./error.js";
import {
  allowedValuesOf,
  type JsonSchema,
  jsonSchemaOf,
  mapValueOf,
  mustBeWritten,
  typesOf,
} from "./json-schema.js";
import type { InitialFields, ProviderSpecs } from "./provider-specs.js";
import { apiVersion, clusterNameLabel } from "./schema.js";
import { defaultKubernetesVersion } from "./versions.js";

interface ScaffoldOptions {
  readonly name: string;
  readonly provider: ProviderSpecs;
  readonly controlPlanes: number;
  readonly workers: number;
}

interface ScaffoldFile {
  readonly name: string;
  readonly text: string;
}

/**
 * The manifests of a new cluster: the Cluster, a Machine for each control-plane member, and the
 * workers as a MachineDeployment. Provider fields are written out with their defaults and what they
 * mean, so that there is something to change. Pure. Throws BAD_USAGE for a name that cannot be one.
 */
export function scaffoldCluster(options: ScaffoldOptions): ScaffoldFile[] {
  refuseBadName(options.name);
  const files = [
    { name: "cluster.yaml", text: clusterText(options) },
    { name: "control-plane.yaml", text: controlPlaneText(options) },
    { name: "workers.yaml", text: workersText(options) },
  ];
  return files.filter(({ text }) => text !== "");
}

function clusterText({ name, provider }: ScaffoldOptions): string {
  return `# The cluster ${name}: its networks and the provider that carries it.
# capstan explain cluster.spec tells about every field.
apiVersion: ${apiVersion}
kind: Cluster
metadata:
  name: ${name}
spec:
  clusterNetwork:
    services: { cidrBlocks: [10.96.0.0/12] }
    pods: { cidrBlocks: [192.168.0.0/16] }
    serviceDomain: cluster.local
  providerSpec:
    value:
${providerLines(provider, { ...provider.clusterSpec, values: provider.clusterSpec.fromEnvironment }, 6)}
`;
}

function controlPlaneText({ name, provider, controlPlanes }: ScaffoldOptions): string {
  const members = Array.from(
    { length: controlPlanes },
    (_, ordinal) => `apiVersion: ${apiVersion}
kind: Machine
metadata:
  name: ${name}-cp-${ordinal}
  labels:
    ${clusterNameLabel}: ${name}
spec:
  versions:
    kubelet: ${defaultKubernetesVersion}
    controlPlane: ${defaultKubernetesVersion}
  providerSpec:
    value:
${providerLines(provider, withInitial(provider.machineSpec, "controlPlane"), 6, ordinal)}
`,
  );
  const head = "# Who runs a control plane version is a member of the control plane.\n";
  return members.length === 0 ? "" : head + members.join("---\n");
}

function workersText({ name, provider, workers }: ScaffoldOptions): string {
  if (workers === 0) return "";
  return `# ${workers} equal workers. Change replicas to scale, the template to roll out.
apiVersion: ${apiVersion}
kind: MachineDeployment
metadata:
  name: ${name}-workers
  labels:
    ${clusterNameLabel}: ${name}
spec:
  replicas: ${workers}
  selector:
    matchLabels:
      set: ${name}-workers
  template:
    metadata:
      labels:
        set: ${name}-workers
    spec:
      versions:
        kubelet: ${defaultKubernetesVersion}
      providerSpec:
        value:
${providerLines(provider, withInitial(provider.machineSpec, "worker"), 10)}
`;
}

/** The schema of a provider's object, and what is known of the values that a new one gets. */
type WrittenSpec = Pick<ProviderSpecs["machineSpec"], "kind" | "schema" | "spread"> & {
  readonly values?: Readonly<Record<string, string>> | undefined;
};

function withInitial(
  { initial, ...spec }: ProviderSpecs["machineSpec"],
  role: keyof InitialFields,
): WrittenSpec {
  return { ...spec, values: initial?.[role] };
}

/** A provider's object: every plain field that has a default, and those that have to be filled in. */
function providerLines(
  { apiVersion: group }: ProviderSpecs,
  spec: WrittenSpec,
  indent: number,
  ordinal = 0,
): string {
  const { kind, schema, spread = {}, values: told = {} } = spec;
  const { properties = {}, required = [] } = jsonSchemaOf(schema);
  const fields = Object.entries(properties)
    .filter(([field]) => field !== "apiVersion" && field !== "kind")
    .flatMap(([field, member]) =>
      fieldLine(
        field,
        withValue(told[field], spreadOver(spread[field], member, ordinal)),
        required.includes(field),
      ),
    );
  return [`apiVersion: ${group}`, `kind: ${kind}`, ...fields]
    .map((line) => " ".repeat(indent) + line)
    .join("\n");
}

/** Members of a control plane are told apart by such a field: each gets a zone of its own. */
function spreadOver(
  values: readonly string[] | undefined,
  schema: JsonSchema,
  ordinal: number,
): JsonSchema {
  const value = values?.[ordinal % values.length];
  return value === undefined ? schema : { ...schema, default: value };
}

function withValue(value: string | undefined, schema: JsonSchema): JsonSchema {
  return value === undefined ? schema : { ...schema, default: value };
}

/** Fields of a Cluster's object that its user has to fill in before anything can be planned. Pure. */
export function fieldsToFillIn({ clusterSpec }: Pick<ProviderSpecs, "clusterSpec">): string[] {
  const schema = jsonSchemaOf(clusterSpec.schema);
  return (schema.required ?? []).filter(
    (field) =>
      field !== "apiVersion" &&
      field !== "kind" &&
      mustBeWritten(schema, field) &&
      clusterSpec.fromEnvironment?.[field] === undefined,
  );
}

function fieldLine(field: string, schema: JsonSchema, isRequired: boolean): string[] {
  const allowed = allowedValuesOf(schema);
  const choices = allowed === undefined ? "" : ` (${allowed.join(", ")})`;
  const about = `${schema.description ?? ""}${choices}`.trim();
  const comment = about === "" ? "" : ` # ${about}`;
  if (schema.default === undefined) return isRequired ? [`${field}:${comment || " # needed"}`] : [];
  const isPlain = mapValueOf(schema) === undefined && !typesOf(schema).includes("array");
  return isPlain ? [`${field}: ${stringify(schema.default).trim()}${comment}`] : [];
}

/** Longest name that leaves room for what Machines and their hosts add to it. */
const maxNameLength = 40;

function refuseBadName(name: string): void {
  if (/^[a-z]([-a-z0-9]*[a-z0-9])?$/.test(name) && name.length <= maxNameLength) return;
  const better = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^[^a-z]+|-+$/g, "")
    .slice(0, maxNameLength);
  throw new CapstanError({
    code: "BAD_USAGE",
    source: "user",
    message: `cannot name a cluster ${JSON.stringify(name)}: a name is up to ${maxNameLength} lower-case letters, digits and dashes, beginning with a letter`,
    hint: better === "" ? "choose one with --name" : `e.g. --name ${better}`,
  });
}
