// RunInstances.

import { omitUndefined } from "../../../../src/api/omit-undefined.js";
import { matchesPattern } from "../../core/patterns.js";
import { ApiError, invalidValue, missingParameter } from "../protocol/api-error.js";
import type { Params } from "../protocol/params.js";
import { type Handler, later, newId, onceByToken, type Scope } from "../model/scope.js";
import type { ImageRow, InstanceRow, Tags } from "../model/tables.js";
import { mustHaveKeyPair } from "./images.js";
import { instanceTypeOf } from "./offers.js";
import { interfaceWishes, type InstanceInterface } from "./launch-interfaces.js";
import { addInstanceVolumes, volumeWishes } from "./launch-volumes.js";
import { addInterface, newPublicAddress } from "./interfaces.js";
import { reservationWire } from "./instance-views.js";
import { mustGet } from "./kinds.js";
import { metadataOf } from "./metadata.js";
import { tagsOnCreate } from "./tagging.js";
import { zonesOf } from "./zones.js";

const runInstances: Handler = (scope, params) => {
  const call = `RunInstances ${zoneNamed(scope, params) ?? scope.region}`;
  const reservation = onceByToken(scope, call, params, (clientToken) =>
    launch(scope, params, clientToken),
  );
  const rows = scope.db.all("instances").filter((row) => row.reservationId === reservation);
  return reservationWire(rows, scope);
};

/** Where a call names a zone, itself or by a subnet, its token is for that zone alone. */
function zoneNamed({ db }: Scope, params: Params): string | undefined {
  const [first] = params.objects("NetworkInterface");
  const subnetId = params.text("SubnetId") ?? first?.text("SubnetId");
  return (
    params.object("Placement")?.text("AvailabilityZone") ?? db.get("subnets", subnetId ?? "")?.zone
  );
}

/** Answers the reservation's id. */
function launch(scope: Scope, params: Params, clientToken: string | undefined): string {
  const image = mustGet(scope, "images", params.required("ImageId"));
  const type = instanceTypeOf(params.required("InstanceType"));
  if (type.architecture !== image.architecture) {
    throw invalidValue(
      `The architecture '${type.architecture}' of the specified instance type does not match the architecture '${image.architecture}' of the specified AMI. Specify an instance type and an AMI that have matching architectures, and try again.`,
    );
  }
  const count = countOf(params);
  const placement = params.object("Placement");
  const wishes = interfaceWishes(scope, params, zoneAsked(scope, placement));
  const { subnetId } = wishes[0];
  const { zone, vpcId } = mustGet(scope, "subnets", subnetId);
  const volumes = volumeWishes(params, image);
  const tags = tagsOnCreate(scope, params, ["instances", "volumes", "interfaces"]);
  const common = commonFields(scope, params, { image, placement });
  checkQuota(scope, type.vcpus * count, common.spot !== undefined);
  checkCapacity(scope, type.id, zone);
  const reservationId = newId(scope, "r");
  for (let launchIndex = 0; launchIndex < count; launchIndex += 1) {
    const row = omitUndefined<InstanceRow>({
      id: newId(scope, "i"),
      tags: tags["instance"] ?? {},
      reservationId,
      launchIndex,
      state: "pending",
      launchedAtMs: scope.nowMs,
      transitionReason: "",
      instanceType: type.id,
      architecture: image.architecture,
      zone,
      vpcId,
      subnetId,
      ...common,
      clientToken,
    });
    scope.db.put("instances", row);
    addInterfaces(scope, row, wishes, tags["network-interface"] ?? {});
    addInstanceVolumes(scope, row, volumes, tags["volume"] ?? {});
    startBooting(scope, row.id);
  }
  return reservationId;
}

/** What becomes of an instance from now on: it runs in a while, unless a fault says otherwise. */
export function startBooting(scope: Scope, id: string): void {
  const { bootMs } = scope.settings.durations;
  const [{ fate, ms } = {}] = scope.fates;
  if (fate === "never") return;
  if (fate === "fails") return later(scope, "instanceFails", id, ms ?? bootMs);
  later(scope, "instanceRuns", id, bootMs);
  if (fate === "interrupted") later(scope, "spotIsNoticed", id, ms ?? bootMs);
}

function countOf(params: Params): number {
  const [least, most] = [params.number("MinCount") ?? 1, params.number("MaxCount") ?? 1];
  if (least < 1 || most < least) {
    throw invalidValue(
      `Value (${least}) for parameter minCount is invalid. It is less than 1 or more than maxCount.`,
    );
  }
  return most;
}

function zoneAsked(scope: Scope, placement: Params | undefined): string | undefined {
  const zone = placement?.text("AvailabilityZone");
  if (zone === undefined || zone === "" || zonesOf(scope.region).includes(zone)) return zone;
  throw invalidValue(`Invalid availability zone: [${zone}]`);
}

type CommonFields = Omit<
  InstanceRow,
  | "id"
  | "tags"
  | "reservationId"
  | "launchIndex"
  | "state"
  | "launchedAtMs"
  | "transitionReason"
  | "instanceType"
  | "architecture"
  | "zone"
  | "vpcId"
  | "subnetId"
  | "clientToken"
>;

/** What all instances of a call share. */
function commonFields(
  scope: Scope,
  params: Params,
  { image, placement }: { readonly image: ImageRow; readonly placement: Params | undefined },
): CommonFields {
  const keyName = params.text("KeyName");
  if (keyName !== undefined) mustHaveKeyPair(scope, keyName);
  return omitUndefined<CommonFields>({
    imageId: image.id,
    rootDevice: image.rootDevice,
    keyName,
    userData: userDataOf(params.text("UserData")),
    placementGroup: placement?.text("GroupName"),
    tenancy: placement?.text("Tenancy") ?? "default",
    profileArn: profileOf(scope, params.object("IamInstanceProfile")),
    cpuCredits: params.object("CreditSpecification")?.required("CpuCredits"),
    spot: spotOf(scope, params.object("InstanceMarketOptions")),
    ebsOptimized: params.flag("EbsOptimized") ?? false,
    monitoring: params.object("Monitoring")?.flag("Enabled") ?? false,
    sourceDestCheck: true,
    disableApiTermination: params.flag("DisableApiTermination") ?? false,
    disableApiStop: params.flag("DisableApiStop") ?? false,
    shutdownBehavior: params.text("InstanceInitiatedShutdownBehavior") ?? "stop",
    metadata: metadataOf(params.object("MetadataOptions")),
    console: "",
  });
}

const mostUserData = 16_384;

function userDataOf(base64: string | undefined): string | undefined {
  if (base64 === undefined || base64 === "") return undefined;
  if (!/^[A-Za-z0-9+/\s]*(?:={1,2}\s*)?$/.test(base64)) {
    throw invalidValue("Invalid BASE64 encoding of user data.");
  }
  const { length } = Buffer.from(base64, "base64");
  if (length > mostUserData) {
    throw invalidValue(`User data is limited to ${mostUserData} bytes`);
  }
  return base64;
}

function profileOf(scope: Scope, profile: Params | undefined): string | undefined {
  if (profile === undefined) return undefined;
  const [arn, name] = [profile.text("Arn"), profile.text("Name")];
  const known = name ?? arn?.slice(arn.lastIndexOf("/") + 1);
  if (known === undefined) throw missingParameter("IamInstanceProfile.Name");
  const { instanceProfiles } = scope.settings;
  if (instanceProfiles?.includes(known) === false) {
    const field = name === undefined ? "arn" : "name";
    throw invalidValue(
      `Value (${name ?? arn ?? ""}) for parameter iamInstanceProfile.${field} is invalid. Invalid IAM Instance Profile ${field === "name" ? "name" : "ARN"}`,
    );
  }
  scope.who.authorize("iam:PassRole", `arn:aws:iam::${scope.account}:role/${known}`);
  return arn ?? `arn:aws:iam::${scope.account}:instance-profile/${known}`;
}

function spotOf(scope: Scope, market: Params | undefined): InstanceRow["spot"] {
  if (market?.text("MarketType") !== "spot") return undefined;
  const options = market.object("SpotOptions");
  const kind = options?.text("SpotInstanceType") ?? "one-time";
  const behavior = options?.text("InstanceInterruptionBehavior") ?? "terminate";
  if (kind !== "one-time" || behavior !== "terminate") {
    throw new ApiError(
      "InvalidParameterCombination",
      "The simulator has one-time spot instances that are terminated, and no others.",
    );
  }
  const maxPrice = options?.text("MaxPrice");
  const requestId = `sir-${scope.digits(8)}`;
  return omitUndefined({ requestId, maxPrice });
}

function checkQuota(scope: Scope, more: number, isSpot: boolean): void {
  const { vcpus, spotVcpus } = scope.settings.quotas;
  const limit = isSpot ? spotVcpus : vcpus;
  const used = scope.db
    .all("instances")
    .filter(
      ({ state, spot }) =>
        (state === "pending" || state === "running") && (spot !== undefined) === isSpot,
    )
    .reduce((sum, { instanceType }) => sum + instanceTypeOf(instanceType).vcpus, 0);
  if (used + more <= limit) return;
  if (isSpot)
    throw new ApiError("MaxSpotInstanceCountExceeded", "Max spot instance count exceeded");
  throw new ApiError(
    "VcpuLimitExceeded",
    `You have requested more vCPU capacity than your current vCPU limit of ${limit} allows for the instance bucket that the specified instance type belongs to. Please visit http://aws.amazon.com/contact-us/ec2-request to request an adjustment to this limit.`,
  );
}

/** Throws InsufficientInstanceCapacity where the settings name a shortage. */
export function checkCapacity(scope: Scope, type: string, zone: string): void {
  const isShort = (one: string) =>
    scope.settings.shortages.some(
      (shortage) =>
        matchesPattern(shortage.instanceType, type) && matchesPattern(shortage.zone ?? "*", one),
    );
  if (!isShort(zone)) return;
  const others = zonesOf(scope.region).filter((one) => !isShort(one));
  const elsewhere =
    others.length === 0
      ? ""
      : ` You can currently get ${type} capacity by not specifying an Availability Zone in your request or choosing ${others.join(", ")}.`;
  throw new ApiError(
    "InsufficientInstanceCapacity",
    `We currently do not have sufficient ${type} capacity in the Availability Zone you requested (${zone}). Our system will be working on provisioning additional capacity.${elsewhere}`,
  );
}

function addInterfaces(
  scope: Scope,
  { id: instanceId }: InstanceRow,
  wishes: readonly InstanceInterface[],
  tags: Tags,
): void {
  wishes.forEach(({ isPublic, deleteOnTermination, ...wish }, deviceIndex) => {
    const attachment = {
      id: newId(scope, "eni-attach"),
      instanceId,
      deviceIndex,
      deleteOnTermination,
      attachedAtMs: scope.nowMs,
    };
    const publicIp = isPublic ? { publicIp: newPublicAddress(scope) } : {};
    addInterface(scope, { ...wish, type: "interface", tags, attachment, ...publicIp });
  });
}

export const launchChanges = { RunInstances: runInstances };
