// How instances are shown.

import { type WireObject, wireTime } from "../protocol/xml.js";
import type { Handler, Scope } from "../model/scope.js";
import type {
  InstanceRow,
  InstanceState,
  InterfaceRow,
  ScheduledEventCode,
} from "../model/tables.js";
import { associationWire, groupSet, macAddressOf, publicAddressOf } from "./interfaces.js";
import { describeRows, filtered, type Filters, pageOf, rowsOf } from "./listing.js";
import { tagSet } from "./tagging.js";
import { privateName, publicName, zoneIdOf } from "./zones.js";

const stateCodes: Readonly<Record<InstanceState, number>> = {
  pending: 0,
  running: 16,
  "shutting-down": 32,
  terminated: 48,
  stopping: 64,
  stopped: 80,
};

export function stateWire(state: InstanceState): WireObject {
  return { code: stateCodes[state], name: state };
}

/** The interfaces of an instance, by their device index. */
export function interfacesOf({ db }: Scope, instanceId: string): readonly InterfaceRow[] {
  return db
    .all("interfaces")
    .filter(({ attachment }) => attachment?.instanceId === instanceId)
    .sort(
      (one, other) => (one.attachment?.deviceIndex ?? 0) - (other.attachment?.deviceIndex ?? 0),
    );
}

/** Instances of one reservation as they are shown. */
export function reservationWire(rows: readonly InstanceRow[], scope: Scope): WireObject {
  return {
    reservationId: rows[0]?.reservationId,
    ownerId: scope.account,
    groupSet: [],
    instancesSet: rows.map((row) => instanceWire(row, scope)),
  };
}

function instanceWire(row: InstanceRow, scope: Scope): WireObject {
  const { state, stateReason, profileArn, spot } = row;
  return {
    instanceId: row.id,
    imageId: row.imageId,
    instanceState: stateWire(state),
    reason: row.transitionReason,
    keyName: row.keyName,
    amiLaunchIndex: row.launchIndex,
    productCodes: [],
    instanceType: row.instanceType,
    launchTime: wireTime(row.launchedAtMs),
    placement: {
      availabilityZone: row.zone,
      availabilityZoneId: zoneIdOf(row.zone),
      groupName: row.placementGroup ?? "",
      tenancy: row.tenancy,
    },
    monitoring: { state: row.monitoring ? "enabled" : "disabled" },
    ...networkWire(row, scope),
    stateReason,
    architecture: row.architecture,
    rootDeviceType: "ebs",
    rootDeviceName: row.rootDevice,
    blockDeviceMapping: deviceWire(row, scope),
    virtualizationType: "hvm",
    instanceLifecycle: spot && "spot",
    spotInstanceRequestId: spot?.requestId,
    clientToken: row.clientToken ?? "",
    tagSet: tagSet(row.tags),
    hypervisor: "xen",
    iamInstanceProfile:
      profileArn === undefined ? undefined : { arn: profileArn, id: profileIdOf(profileArn) },
    ebsOptimized: row.ebsOptimized,
    enaSupport: true,
    metadataOptions: { state: "applied", ...row.metadata },
    platformDetails: "Linux/UNIX",
    usageOperation: "RunInstances",
    currentInstanceBootMode: "legacy-bios",
  };
}

/** What an instance has in a network: nothing once it is terminated. */
function networkWire(row: InstanceRow, scope: Scope): WireObject {
  const interfaces = interfacesOf(scope, row.id);
  const [first] = interfaces;
  if (first === undefined)
    return { groupSet: [], networkInterfaceSet: [], dnsName: "", privateDnsName: "" };
  // EC2 tells it some time after the launch.
  const publicIp = row.state === "pending" ? undefined : publicAddressOf(scope, first);
  const hasNames = scope.db.get("vpcs", first.vpcId)?.dnsHostnames === true;
  return {
    subnetId: first.subnetId,
    vpcId: first.vpcId,
    privateIpAddress: first.privateIp,
    privateDnsName: privateName(scope, first.privateIp),
    ipAddress: publicIp,
    dnsName: publicIp === undefined || !hasNames ? "" : publicName(scope, publicIp),
    sourceDestCheck: first.sourceDestCheck,
    groupSet: groupSet(scope, first.groupIds),
    networkInterfaceSet: interfaces.map((one) => interfaceOfInstance(one, scope)),
  };
}

function interfaceOfInstance(row: InterfaceRow, scope: Scope): WireObject {
  const { id, privateIp, attachment } = row;
  const association = associationWire(scope, row);
  const shown = association && {
    ipOwnerId: association["ipOwnerId"],
    publicDnsName: association["publicDnsName"],
    publicIp: association["publicIp"],
  };
  const privateDnsName = privateName(scope, privateIp);
  return {
    networkInterfaceId: id,
    subnetId: row.subnetId,
    vpcId: row.vpcId,
    description: row.description,
    ownerId: scope.account,
    status: "in-use",
    macAddress: macAddressOf(id),
    privateIpAddress: privateIp,
    privateDnsName,
    sourceDestCheck: row.sourceDestCheck,
    groupSet: groupSet(scope, row.groupIds),
    attachment: attachment && {
      attachmentId: attachment.id,
      deviceIndex: attachment.deviceIndex,
      status: "attached",
      attachTime: wireTime(attachment.attachedAtMs),
      deleteOnTermination: attachment.deleteOnTermination,
      networkCardIndex: 0,
    },
    association: shown,
    privateIpAddressesSet: [
      { privateIpAddress: privateIp, privateDnsName, primary: true, association: shown },
    ],
    interfaceType: row.type,
  };
}

export function deviceWire({ id }: InstanceRow, { db }: Scope): WireObject[] {
  return db.all("volumes").flatMap(({ id: volumeId, attachment }) => {
    if (attachment?.instanceId !== id) return [];
    const { device, state, deleteOnTermination, attachedAtMs } = attachment;
    const attachTime = wireTime(attachedAtMs);
    return [
      { deviceName: device, ebs: { volumeId, status: state, attachTime, deleteOnTermination } },
    ];
  });
}

/** IAM gives profiles ids that nobody can tell from their names; here they are made from them. */
function profileIdOf(arn: string): string {
  const hex = Buffer.from(arn).toString("hex").toUpperCase().slice(-17);
  return `AIPA${hex.padStart(17, "0")}`;
}

const describeInstances: Handler = (scope, params) => {
  params.ignore("IncludeManagedResources");
  const ids = params.texts("InstanceId");
  const rows = filtered(scope, params, rowsOf(scope, "instances", ids), filters);
  const { items, nextToken } = pageOf(rows, params);
  const reservations = new Map<string, InstanceRow[]>();
  for (const row of items) {
    reservations.set(row.reservationId, [...(reservations.get(row.reservationId) ?? []), row]);
  }
  const reservationSet = [...reservations.values()].map((same) => reservationWire(same, scope));
  return { reservationSet, nextToken };
};

const firstInterface = (row: InstanceRow, scope: Scope) => interfacesOf(scope, row.id)[0];

const filters: Filters<InstanceRow> = {
  "instance-id": ({ id }) => [id],
  "client-token": ({ clientToken }) => [clientToken],
  "instance-state-name": ({ state }) => [state],
  "instance-state-code": ({ state }) => [String(stateCodes[state])],
  "instance-type": ({ instanceType }) => [instanceType],
  "instance-lifecycle": ({ spot }) => [spot && "spot"],
  "spot-instance-request-id": ({ spot }) => [spot?.requestId],
  "image-id": ({ imageId }) => [imageId],
  "key-name": ({ keyName }) => [keyName],
  "availability-zone": ({ zone }) => [zone],
  architecture: ({ architecture }) => [architecture],
  "reservation-id": ({ reservationId }) => [reservationId],
  "owner-id": (_, { account }) => [account],
  tenancy: ({ tenancy }) => [tenancy],
  "iam-instance-profile.arn": ({ profileArn }) => [profileArn],
  "iam-instance-profile.name": ({ profileArn }) => [
    profileArn?.slice(profileArn.lastIndexOf("/") + 1),
  ],
  "subnet-id": (row, scope) => [firstInterface(row, scope)?.subnetId],
  "vpc-id": (row, scope) => [firstInterface(row, scope)?.vpcId],
  "private-ip-address": (row, scope) => [firstInterface(row, scope)?.privateIp],
  "private-dns-name": (row, scope) => {
    const first = firstInterface(row, scope);
    return [first && privateName(scope, first.privateIp)];
  },
  "ip-address": (row, scope) => {
    const first = firstInterface(row, scope);
    return [first && publicAddressOf(scope, first)];
  },
  "instance.group-id": (row, scope) => firstInterface(row, scope)?.groupIds ?? [],
  "network-interface.network-interface-id": (row, scope) =>
    interfacesOf(scope, row.id).map(({ id }) => id),
  "network-interface.group-id": (row, scope) =>
    interfacesOf(scope, row.id).flatMap(({ groupIds }) => groupIds),
  "block-device-mapping.volume-id": ({ id }, { db }) =>
    db
      .all("volumes")
      .map((volume) => (volume.attachment?.instanceId === id ? volume.id : undefined)),
};

const describeInstanceStatus: Handler = (scope, params) => {
  const isAll = params.flag("IncludeAllInstances") ?? false;
  const rows = rowsOf(scope, "instances", params.texts("InstanceId")).filter(
    ({ state }) => isAll || state === "running",
  );
  return describeRows(scope, params, rows, {
    set: "instanceStatusSet",
    filters: { ...filters, "event.code": ({ events = [] }) => events.map(({ code }) => code) },
    wire: statusWire,
  });
};

function statusWire({ id, zone, state, events = [] }: InstanceRow): WireObject {
  const status = state === "running" ? "ok" : "not-applicable";
  const summary = { status, details: [{ name: "reachability", status: "passed" }] };
  return {
    instanceId: id,
    availabilityZone: zone,
    eventsSet: events.map(({ id: instanceEventId, code, notBeforeMs }) => ({
      instanceEventId,
      code,
      description: eventWords[code],
      notBefore: wireTime(notBeforeMs),
    })),
    instanceState: stateWire(state),
    systemStatus: state === "running" ? summary : { status },
    instanceStatus: state === "running" ? summary : { status },
  };
}

const eventWords: Readonly<Record<ScheduledEventCode, string>> = {
  "instance-retirement": "The instance is running on degraded hardware",
  "instance-stop": "The instance is running on degraded hardware",
  "system-reboot": "scheduled reboot",
  "system-maintenance": "The instance is running on hardware that needs maintenance",
};

/** Spot requests are those of the instances that they have led to: others are not modelled. */
const describeSpotRequests: Handler = (scope, params) => {
  const asked = params.texts("SpotInstanceRequestId");
  const rows = scope.db
    .all("instances")
    .filter(
      ({ spot }) => spot !== undefined && (asked.length === 0 || asked.includes(spot.requestId)),
    );
  return describeRows(scope, params, rows, {
    set: "spotInstanceRequestSet",
    filters: {
      "spot-instance-request-id": ({ spot }) => [spot?.requestId],
      "instance-id": ({ id }) => [id],
      "status-code": (row) => [spotStatusOf(row)],
      state: ({ state }) => [state === "terminated" ? "closed" : "active"],
    },
    wire: (row) => ({
      spotInstanceRequestId: row.spot?.requestId,
      spotPrice: row.spot?.maxPrice,
      type: "one-time",
      state: row.state === "terminated" ? "closed" : "active",
      status: {
        code: spotStatusOf(row),
        updateTime: wireTime(row.spot?.noticedAtMs ?? row.launchedAtMs),
      },
      instanceId: row.id,
      createTime: wireTime(row.launchedAtMs),
      launchedAvailabilityZone: row.zone,
      tagSet: [],
    }),
  });
};

function spotStatusOf({ state, spot }: InstanceRow): string {
  const isNoticed = spot?.noticedAtMs !== undefined;
  if (state === "terminated" || state === "shutting-down") {
    return isNoticed ? "instance-terminated-no-capacity" : "instance-terminated-by-user";
  }
  return isNoticed ? "marked-for-termination" : "fulfilled";
}

export const instanceLooks = {
  DescribeInstances: describeInstances,
  DescribeInstanceStatus: describeInstanceStatus,
  DescribeSpotInstanceRequests: describeSpotRequests,
};
