import { isJsonObject, type Json, type JsonObject, sameJson } from "../../../src/api/json.js";
import type { IdleMember } from "../../../src/api/provider-specs.js";
import { present } from "../../../src/provider/host-spec.js";
import type { CapaCluster, CapaMachine } from "./v1alpha1.js";

/**
 * A Cluster's object of cluster-api-provider-aws 0.3 in our fields. Pure. Throws an Error that names everything that
 * cannot be honoured; docs/aws.md has the table.
 */
export function clusterFromCapa(fields: JsonObject): JsonObject {
  const { networkSpec, region, ...others } = asCluster(fields);
  const keys = (["caKeyPair", "etcdCAKeyPair", "frontProxyCAKeyPair", "saKeyPair"] as const).filter(
    (name) => Object.values(others[name] ?? {}).some((value) => value !== ""),
  );
  const { vpc = {}, subnets = [] } = networkSpec ?? {};
  refuse([
    ...keys.map(
      (name) =>
        `${name} holds a private key: take it out and give the files to capstan up --certificates`,
    ),
    isSaid(others.clusterConfiguration) &&
      "clusterConfiguration is kubeadm's v1beta1 for the whole cluster: write kubeadm.clusterConfiguration at the Machines of the control plane",
    isSaid(others.additionalUserDataFiles) &&
      "additionalUserDataFiles of a Cluster are for hosts: write bootstrap.files at its Machines",
    ...subnets.flatMap(({ id = "", cidrBlock = "", availabilityZone = "" }, index) => [
      availabilityZone === "" &&
        filtersOf(vpc, subnets) === undefined &&
        `networkSpec.subnets[${index}] needs availabilityZone: without it, networkSpec.vpc and all subnets need their ids`,
      id === "" && cidrBlock === "" && `networkSpec.subnets[${index}] needs id or cidrBlock`,
    ]),
  ]);
  const { id = "", cidrBlock = "", internetGatewayId = "" } = vpc;
  const subnetFilters = filtersOf(vpc, subnets);
  const isNamed = subnets.length > 0 && subnetFilters === undefined;
  return present({
    region,
    vpc: id !== "" ? { id } : cidrBlock !== "" ? { cidr: cidrBlock } : undefined,
    internetGatewayId: id !== "" && internetGatewayId !== "" ? internetGatewayId : undefined,
    subnets: isNamed ? subnets.map(subnetFromCapa) : undefined,
    subnetFilters,
    // As it was there: the roles of such machines have no right to any secret.
    hostSecrets: "userData",
    tags: isSaid(vpc.tags) ? vpc.tags : undefined,
  });
}

type CapaNetwork = NonNullable<CapaCluster["networkSpec"]>;

/**
 * What finds the subnets of a VPC that is there, where it is all of them, or ids without zones. Their zones and routes are read
 * then, as cluster-api-provider-aws did.
 */
function filtersOf(
  { id = "" }: NonNullable<CapaNetwork["vpc"]>,
  subnets: NonNullable<CapaNetwork["subnets"]>,
): JsonObject[] | undefined {
  if (id === "") return undefined;
  if (subnets.length === 0) return [{ name: "state", values: ["available"] }];
  const ids = subnets.map((subnet) => subnet.id ?? "");
  const isTold = subnets.every(({ availabilityZone = "" }) => availabilityZone !== "");
  return isTold || ids.includes("") ? undefined : [{ name: "subnet-id", values: ids }];
}

/** Validation has seen that it is one. */
function asCluster(fields: JsonObject): CapaCluster {
  return fields as unknown as CapaCluster;
}

function subnetFromCapa(subnet: {
  readonly id?: string;
  readonly cidrBlock?: string;
  readonly availabilityZone?: string;
  readonly isPublic?: boolean;
  readonly tags?: Readonly<Record<string, string>>;
}): JsonObject {
  const { id = "", cidrBlock = "", availabilityZone = "", isPublic, tags } = subnet;
  return present({
    id: id === "" ? undefined : id,
    cidr: id === "" ? cidrBlock : undefined,
    zone: availabilityZone,
    public: isPublic,
    tags: id === "" && isSaid(tags) ? tags : undefined,
  });
}

/** The same of a Machine's object. */
export function machineFromCapa(fields: JsonObject): JsonObject {
  const { ami, imageLookupOrg = "", kubeadmConfiguration = {}, ...others }: CapaMachine = fields;
  const { subnet, additionalSecurityGroups = [], additionalUserDataFiles, ...plain } = others;
  const { join, init } = kubeadmConfiguration;
  const kubelet = [join, init].filter(isSaid).map(kubeletArgsIn);
  const [args] = kubelet;
  refuse([
    imageLookupOrg !== "" &&
      !isSaid(ami) &&
      "imageLookupOrg finds images by a name that has the version of Kubernetes in it: name the image by ami.id, or by ami.filters with owner-id and name",
    ...[join, init].flatMap((one, index) => unknownKubeadm(one, index === 0 ? "join" : "init")),
    kubelet.some((one) => !sameJson(one, args)) &&
      "kubeadmConfiguration has other kubeletExtraArgs for join than for init: write kubeadm.nodeRegistration",
  ]);
  const text = (value: string | undefined) => (value === "" ? undefined : value);
  return present({
    instanceType: text(plain.instanceType),
    image: isSaid(ami) ? imageFrom(ami, imageLookupOrg) : undefined,
    zone: text(plain.availabilityZone),
    subnet: isSaid(subnet) ? referenceFrom(subnet) : undefined,
    securityGroups:
      additionalSecurityGroups.length === 0
        ? undefined
        : additionalSecurityGroups.map(referenceFrom),
    instanceProfile: text(plain.iamInstanceProfile),
    keyName: text(plain.keyName),
    publicIp: plain.publicIP,
    rootVolume: plain.rootDeviceSize ? { gib: plain.rootDeviceSize } : undefined,
    tags: isSaid(plain.additionalTags) ? plain.additionalTags : undefined,
    bootstrap: isSaid(additionalUserDataFiles)
      ? { files: additionalUserDataFiles.map((file) => present({ ...file })) }
      : undefined,
    kubeadm: isSaid(args) ? { nodeRegistration: { kubeletExtraArgs: args } } : undefined,
  });
}

interface CapaReference {
  readonly id?: string;
  readonly arn?: string;
  readonly filters?: Json;
}

/** Filters find images of the account that images were looked up in. */
function imageFrom(ami: CapaReference, owner: string): JsonObject {
  const image = referenceFrom(ami);
  return "filters" in image && owner !== "" ? { ...image, owner } : image;
}

/** "arn:aws:ec2:eu-north-1:1:subnet/subnet-1" ends with the id. */
function referenceFrom({ id = "", arn = "", filters }: CapaReference): JsonObject {
  if (id !== "") return { id };
  if (arn !== "") return { id: arn.split("/").at(-1) ?? arn };
  return present({ filters });
}

/** What of kubeadm's v1beta1 has no meaning here. */
function unknownKubeadm(configuration: unknown, name: string): string[] {
  if (!isJsonObject(configuration)) return [];
  const { nodeRegistration, apiVersion: _version, kind: _kind, ...others } = configuration;
  const node = isJsonObject(nodeRegistration) ? nodeRegistration : {};
  const { kubeletExtraArgs: _args, ...fields } = node;
  const said = [
    ...Object.keys(others).filter((field) => isSaid(others[field])),
    ...Object.keys(fields)
      .filter((field) => isSaid(fields[field]))
      .map((field) => `nodeRegistration.${field}`),
  ];
  return said.map(
    (field) =>
      `kubeadmConfiguration.${name}.${field} is of kubeadm's v1beta1: the Machine's own fields and kubeadm say it`,
  );
}

function kubeletArgsIn(configuration: unknown): Json | undefined {
  if (!isJsonObject(configuration)) return undefined;
  const { nodeRegistration } = configuration;
  return isJsonObject(nodeRegistration) ? nodeRegistration["kubeletExtraArgs"] : undefined;
}

/** Templates of that time write empty texts, lists and objects for what they do not say. */
function isSaid<T>(value: T): value is Exclude<T, undefined> {
  if (value === undefined || value === null || value === "" || value === 0) return false;
  return typeof value !== "object" || Object.values(value).some(isSaid);
}

const ownMetadata = "the object itself has metadata";
const tagsStay = "a subnet that is there keeps its own";
const imageIsNamed = "ami names the image by its id";
const routesStay =
  "the routes of a subnet that is there stay as they are, and those of others are made";

/** What a Cluster's object of that version may say without any effect. Pure. */
export function idleInCapaCluster(fields: JsonObject): IdleMember[] {
  const { metadata, sshKeyName, networkSpec } = asCluster(fields);
  const subnets = networkSpec?.subnets ?? [];
  const gateway = networkSpec?.vpc?.internetGatewayId;
  return [
    ...idleIf(metadata, ["metadata"], ownMetadata),
    ...idleIf(sshKeyName, ["sshKeyName"], "it was for a bastion, and none is made"),
    ...(isSaid(networkSpec?.vpc?.id)
      ? []
      : idleIf(
          gateway,
          ["networkSpec", "vpc", "internetGatewayId"],
          "a VPC that is made gets a gateway of its own",
        )),
    ...subnets.flatMap((subnet, index) =>
      (["routeTableId", "natGatewayId"] as const).flatMap((field) =>
        idleIf(subnet[field], ["networkSpec", "subnets", index, field], routesStay),
      ),
    ),
    ...subnets.flatMap(({ id, tags }, index) =>
      isSaid(id) ? idleIf(tags, ["networkSpec", "subnets", index, "tags"], tagsStay) : [],
    ),
  ];
}

/** The same of a Machine's object. Pure. */
export function idleInCapaMachine(fields: JsonObject): IdleMember[] {
  const { metadata, ami, imageLookupOrg }: CapaMachine = fields;
  const isById = isSaid(ami?.id) || isSaid(ami?.arn);
  return [
    ...idleIf(metadata, ["metadata"], ownMetadata),
    ...(isById ? idleIf(imageLookupOrg, ["imageLookupOrg"], imageIsNamed) : []),
  ];
}

function idleIf(value: unknown, path: IdleMember["path"], reason: string): IdleMember[] {
  return isSaid(value) ? [{ path, reason }] : [];
}

function refuse(problems: readonly (string | false)[]): void {
  const found = problems.filter((one) => one !== false);
  if (found.length > 0) throw new Error(found.join("; "));
}
