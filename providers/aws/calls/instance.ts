import type { Instance, RunInstancesCommandInput, VolumeType } from "@aws-sdk/client-ec2";
import { isJsonObject, type JsonObject, sameJson } from "../../../src/api/json.js";
import { omitUndefined } from "../../../src/api/omit-undefined.js";
import { userDataFieldNames } from "../../../src/api/user-data-fields.js";
import type { MachineCalls } from "../../../src/provider/definition.js";
import { standsStill } from "../../../src/provider/failure.js";
import { nodeFields, present } from "../../../src/provider/host-spec.js";
import type {
  CallContext,
  Found,
  Identity,
  Observed,
  UserDataTerms,
} from "../../../src/provider/port.js";
import { ifThere } from "./ask.js";
import {
  type AskEc2,
  dropTags,
  type Ec2Kind,
  lookingCalls,
  must,
  phaseOf,
  putTags,
  tagged,
  text,
  texts,
  updateTags,
} from "./ec2-kind.js";
import { choicesOfText, choicesText, launchToken } from "../kinds/choices.js";
import {
  alternativesIn,
  alternativesTags,
  clusterTag,
  inOrder,
  isLeft,
  leftTag,
  orderTags,
  shownTags,
  tagsFor,
  whoOf,
} from "./marks.js";
import { withNotices } from "./notices.js";

/** An instance in any other state does not come up by itself. */
const phases = {
  pending: "pending",
  running: "ready",
  "shutting-down": "deleting",
  terminated: "gone",
  stopping: "stopped",
  stopped: "stopped",
} as const;

/** Spot instances are asked for once: EC2 starts none again that it has stopped. */
function phaseOfInstance({ State, InstanceLifecycle }: Instance): Found["phase"] {
  const phase = phaseOf(State?.Name, phases);
  return phase === "stopped" && InstanceLifecycle === "spot" ? "failed" : phase;
}

function failureOf({ State, StateReason }: Instance): NonNullable<Found["failure"]> {
  const reason = StateReason?.Message ?? `it is ${State?.Name ?? "in no state"}`;
  const isQuota = (StateReason?.Code ?? "").includes("LimitExceeded");
  return { code: isQuota ? "QUOTA" : "CLOUD_FAILED", reason };
}

const leftFailure: NonNullable<Found["failure"]> = {
  code: "CLOUD_FAILED",
  reason: "it has left its control plane",
};

function shownInstance(instance: Instance): Found {
  const { InstanceId, Placement, Tags, SecurityGroups = [], PrivateIpAddress } = instance;
  const id = must(InstanceId, "InstanceId");
  const shown = phaseOfInstance(instance);
  const hasLeft = shown !== "gone" && isLeft(Tags);
  const phase = hasLeft ? "failed" : shown;
  const zone = Placement?.AvailabilityZone;
  return omitUndefined<Found>({
    id,
    who: whoOf(Tags),
    phase,
    hasLeft: hasLeft || undefined,
    failure: hasLeft ? leftFailure : standsStill({ phase }) ? failureOf(instance) : undefined,
    spec: present({
      imageId: instance.ImageId,
      instanceType: instance.InstanceType,
      zone,
      subnetId: instance.SubnetId,
      groupIds: inOrder(
        SecurityGroups.flatMap(({ GroupId }) => GroupId ?? []),
        Tags,
      ),
      instanceProfile: instance.IamInstanceProfile?.Arn?.split("/").at(-1),
      keyName: instance.KeyName,
      sourceDestCheck: instance.SourceDestCheck === false ? false : undefined,
      metadata: present({
        httpTokens: instance.MetadataOptions?.HttpTokens,
        hopLimit: instance.MetadataOptions?.HttpPutResponseHopLimit,
      }),
      placementGroup: textOrNothing(Placement?.GroupName),
      tenancy: Placement?.Tenancy,
      tags: shownTags(Tags),
      alternatives: choicesOfText(alternativesIn(Tags)),
    }),
    status: present({
      address: PrivateIpAddress,
      name: textOrNothing(instance.PrivateDnsName),
      zone,
      providerId: zone === undefined ? undefined : `aws:///${zone}/${id}`,
    }),
    createdAtMs: instance.LaunchTime?.getTime(),
  });
}

function textOrNothing(value: string | undefined): string | undefined {
  return value === "" ? undefined : value;
}

/** `spot` takes the ids of spot instances: what is one stays one. */
function instanceKind(ask: AskEc2, spot: Set<string>): Ec2Kind {
  return {
    idFilter: "instance-id",
    async page(ctx, query) {
      const { Reservations = [], NextToken } = await ask(ctx, "DescribeInstances", (ec2, options) =>
        ec2.describeInstances({ ...query, MaxResults: 1_000 }, options),
      );
      for (const { InstanceId, InstanceLifecycle } of Reservations.flatMap(
        ({ Instances = [] }) => Instances,
      )) {
        if (InstanceLifecycle === "spot" && InstanceId !== undefined) spot.add(InstanceId);
      }
      const resources = Reservations.flatMap(({ Instances = [] }) => Instances.map(shownInstance));
      return { resources, next: NextToken };
    },
  };
}

/** Inputs of a host that EC2 does not show, or shows only while it runs. */
const unobservable = [
  ...nodeFields,
  ...userDataFieldNames,
  "software",
  "rootVolume",
  "publicIp",
  "spot",
  "loadBalancer",
];

/** Marks an instance whose member leaves its control plane. */
export function leaving(ask: AskEc2): Pick<UserDataTerms, "markLeft"> {
  return { markLeft: (ctx, { id }) => putTags(ask, ctx, id, [leftTag]) };
}

/** The token is EC2's own. */
export function instanceCalls(ask: AskEc2): MachineCalls {
  const spot = new Set<string>();
  const rootDevices = new RootDevices(ask);
  const looking = lookingCalls(ask, instanceKind(ask, spot));
  return {
    ...looking,
    list: (ctx, scope) => withNotices(ask, ctx, looking.list(ctx, scope), (id) => spot.has(id)),
    timing: { pollMs: 5_000 },
    unobservable,
    async create(ctx, who, spec) {
      // First: a host that waits for the members before it comes here again and again.
      const { packed } = await ctx.userData();
      const rootDevice = await rootDevices.of(ctx, text(spec, "imageId"));
      const UserData = Buffer.from(packed).toString("base64");
      const wanted = { ...launchOf(who, spec, rootDevice), UserData };
      const { Instances = [] } = await ask(ctx, "RunInstances", (ec2, options) =>
        ec2.runInstances(wanted, options),
      );
      const shown = shownInstance(must(Instances[0], "Instances"));
      const { sourceDestCheck: _, ...asked } = spec;
      return { ...shown, who, spec: { ...asked, ...shown.spec, ...launched(spec) } };
    },
    async update(ctx, current, spec) {
      await updateGroups(ask, ctx, current, texts(spec, "groupIds"));
      const { metadata } = spec;
      if (isJsonObject(metadata) && !sameJson(metadata, current.spec["metadata"])) {
        const wanted = { InstanceId: current.id, ...metadataOptions(metadata) };
        await ask(ctx, "ModifyInstanceMetadataOptions", (ec2, options) =>
          ec2.modifyInstanceMetadataOptions(wanted, options),
        );
      }
      await updateSourceDestCheck(ask, ctx, current, spec);
      await updateTags(ask, ctx, current, spec);
      await updateAlternatives(ask, ctx, current, choicesText(spec));
      return { ...current, spec };
    },
    // While it is still stopping EC2 refuses that, and it is asked again.
    async start(ctx, current) {
      await ask(ctx, "StartInstances", (ec2, options) =>
        ec2.startInstances({ InstanceIds: [current.id] }, options),
      );
      const { failure: _stopped, ...started } = current;
      return { ...started, phase: "pending" };
    },
    remove: (ctx, { id }) =>
      ifThere(
        ask(ctx, "TerminateInstances", (ec2, options) =>
          ec2.terminateInstances({ InstanceIds: [id] }, options),
        ),
      ),
  };
}

/** What the answer to a launch does not show yet is as it was asked for. */
function launched(spec: JsonObject): JsonObject {
  const { groupIds, tags, metadata, instanceProfile, alternatives } = spec;
  return present({ groupIds, tags, metadata, instanceProfile, alternatives });
}

/** Names of the devices that images boot from: an image keeps its own, so each is asked for once. */
class RootDevices {
  private readonly known = new Map<string, string>();

  constructor(private readonly ask: AskEc2) {}

  async of(ctx: CallContext, imageId: string): Promise<string> {
    const known = this.known.get(imageId);
    if (known !== undefined) return known;
    const { Images: [image] = [] } = await this.ask(ctx, "DescribeImages", (ec2, options) =>
      ec2.describeImages({ ImageIds: [imageId] }, options),
    );
    const { RootDeviceName } = image ?? {};
    if (RootDeviceName !== undefined) this.known.set(imageId, RootDeviceName);
    return RootDeviceName ?? "/dev/sda1";
  }
}

function launchOf(who: Identity, spec: JsonObject, rootDevice: string): RunInstancesCommandInput {
  const { tags, rootVolume, metadata, keyName, instanceProfile } = spec;
  const order = texts(spec, "groupIds");
  const alternatives = alternativesTags(choicesText(spec));
  const own = tagged("instance", who, {
    tags,
    order,
    more: { ...clusterTag(who), ...alternatives },
  }).TagSpecifications;
  // Without marks: it lives and goes with its instance.
  const Tags = tagsFor(who, { tags }).filter(({ Key }) => !Key.startsWith("capstan:"));
  // EC2 takes no specification without tags.
  const volumes = Tags.length === 0 ? [] : [{ ResourceType: "volume" as const, Tags }];
  const optional = omitUndefined<Partial<RunInstancesCommandInput>>({
    ClientToken: launchToken(who.token, spec),
    ImageId: text(spec, "imageId"),
    InstanceType: text(spec, "instanceType") as NonNullable<
      RunInstancesCommandInput["InstanceType"]
    >,
    KeyName: typeof keyName === "string" ? keyName : undefined,
    IamInstanceProfile: typeof instanceProfile === "string" ? { Name: instanceProfile } : undefined,
    BlockDeviceMappings: isJsonObject(rootVolume)
      ? [
          {
            DeviceName: rootDevice,
            Ebs: { ...volumeSettings(rootVolume), DeleteOnTermination: true },
          },
        ]
      : undefined,
    MetadataOptions: isJsonObject(metadata) ? metadataOptions(metadata) : undefined,
    InstanceMarketOptions: marketOf(spec),
    Placement: placementOf(spec),
    TagSpecifications: [...own, ...volumes],
    ...networkOf(spec),
  });
  return { MinCount: 1, MaxCount: 1, ...optional };
}

function networkOf(spec: JsonObject): Partial<RunInstancesCommandInput> {
  const { publicIp } = spec;
  const [SubnetId, groups] = [text(spec, "subnetId"), texts(spec, "groupIds")];
  if (typeof publicIp !== "boolean") return { SubnetId, SecurityGroupIds: groups };
  return {
    NetworkInterfaces: [
      { DeviceIndex: 0, SubnetId, Groups: groups, AssociatePublicIpAddress: publicIp },
    ],
  };
}

function marketOf({ spot }: JsonObject): RunInstancesCommandInput["InstanceMarketOptions"] {
  if (!isJsonObject(spot)) return undefined;
  const { maxPrice } = spot;
  const price = typeof maxPrice === "string" ? { MaxPrice: maxPrice } : {};
  return { MarketType: "spot", SpotOptions: { SpotInstanceType: "one-time", ...price } };
}

function placementOf({
  placementGroup,
  tenancy,
}: JsonObject): RunInstancesCommandInput["Placement"] {
  const GroupName = typeof placementGroup === "string" ? placementGroup : undefined;
  return omitUndefined({
    GroupName,
    Tenancy: tenancy === "dedicated" ? ("dedicated" as const) : ("default" as const),
  });
}

interface VolumeSettings {
  readonly VolumeSize: number;
  readonly VolumeType: VolumeType;
  readonly Iops?: number;
  readonly Throughput?: number;
  readonly Encrypted: boolean;
  readonly KmsKeyId?: string;
}

/** Settings of a volume as EC2 takes them, of a root volume and of others. Pure. */
export function volumeSettings(spec: JsonObject): VolumeSettings {
  const { gib, type, iops, throughput, encrypted, kmsKeyId } = spec;
  return omitUndefined<VolumeSettings>({
    VolumeSize: Number(gib),
    VolumeType: String(type) as VolumeType,
    Iops: iops === undefined ? undefined : Number(iops),
    Throughput: throughput === undefined ? undefined : Number(throughput),
    Encrypted: encrypted === true,
    KmsKeyId: kmsKeyId === undefined ? undefined : String(kmsKeyId),
  });
}

function metadataOptions({ httpTokens, hopLimit }: JsonObject) {
  return {
    HttpTokens: httpTokens === "optional" ? ("optional" as const) : ("required" as const),
    HttpPutResponseHopLimit: Number(hopLimit),
  };
}

async function updateGroups(
  ask: AskEc2,
  ctx: CallContext,
  current: Observed,
  wanted: readonly string[],
): Promise<void> {
  if (sameJson(current.spec["groupIds"], wanted)) return;
  await ask(ctx, "ModifyInstanceAttribute", (ec2, options) =>
    ec2.modifyInstanceAttribute({ InstanceId: current.id, Groups: [...wanted] }, options),
  );
  await putTags(ask, ctx, current.id, orderTags(wanted));
}

/** A launch does not take it: a new host is updated to it. */
async function updateSourceDestCheck(
  ask: AskEc2,
  ctx: CallContext,
  { id: InstanceId, spec: { sourceDestCheck: current } }: Observed,
  { sourceDestCheck: wanted }: JsonObject,
): Promise<void> {
  if (current === wanted) return;
  const SourceDestCheck = { Value: wanted !== false };
  await ask(ctx, "ModifyInstanceAttribute", (ec2, options) =>
    ec2.modifyInstanceAttribute({ InstanceId, SourceDestCheck }, options),
  );
}

async function updateAlternatives(
  ask: AskEc2,
  ctx: CallContext,
  { id, spec }: Observed,
  wanted: string | undefined,
): Promise<void> {
  const known = choicesText(spec);
  if (known === wanted) return;
  const put = Object.entries(alternativesTags(wanted)).map(([Key, Value]) => ({ Key, Value }));
  await putTags(ask, ctx, id, put);
  if (wanted !== undefined) return;
  const keys = Object.keys(alternativesTags(known));
  await dropTags(
    ask,
    ctx,
    id,
    keys.map((Key) => ({ Key })),
  );
}
