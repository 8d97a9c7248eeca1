// What a region offers: zones and instance types.

import { ApiError, invalidValue } from "../protocol/api-error.js";
import type { WireObject } from "../protocol/xml.js";
import type { Handler, Scope } from "../model/scope.js";
import { describeRows, type Filters } from "./listing.js";
import { zoneIdOf, zonesOf } from "./zones.js";

interface InstanceType {
  readonly id: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly vcpus: number;
  readonly memoryMib: number;
  readonly architecture: "x86_64" | "arm64";
  readonly burstable: boolean;
}

/** Per vCPU, in GiB. */
const memoryPerVcpu: Readonly<Record<string, number>> = { c: 2, m: 4, r: 8 };

const sizes: Readonly<Record<string, number>> = {
  medium: 1,
  large: 2,
  xlarge: 4,
  "2xlarge": 8,
  "4xlarge": 16,
  "8xlarge": 32,
  "12xlarge": 48,
  "16xlarge": 64,
};

const families = ["c5", "c5a", "c6i", "c6a", "c6g", "c7i", "c7a", "c7g"]
  .concat(["m4", "m5", "m5a", "m6i", "m6a", "m6g", "m7i", "m7a", "m7g"])
  .concat(["r5", "r6i", "r6g", "r7i", "r7g"]);

/** Their larger sizes are others. */
const older: ReadonlySet<string> = new Set(["c5", "m4"]);

/** Burstable sizes: vCPUs and GiB. */
const burstable: readonly (readonly [string, number, number])[] = [
  ["nano", 2, 0.5],
  ["micro", 2, 1],
  ["small", 2, 2],
  ["medium", 2, 4],
  ["large", 2, 8],
  ["xlarge", 4, 16],
  ["2xlarge", 8, 32],
];

const instanceTypes: ReadonlyMap<string, InstanceType> = new Map(
  [...families.flatMap(typesOfFamily), ...["t2", "t3", "t3a", "t4g"].flatMap(burstableTypes)].map(
    (type) => [type.id, type],
  ),
);

function typesOfFamily(family: string): InstanceType[] {
  const isArm = /\dg/.test(family);
  const perVcpu = memoryPerVcpu[family[0] ?? ""] ?? 4;
  return Object.entries(sizes)
    .filter(([size, vcpus]) => (size !== "medium" || isArm) && (vcpus <= 16 || !older.has(family)))
    .map(([size, vcpus]) => ({
      id: `${family}.${size}`,
      tags: {},
      vcpus,
      memoryMib: vcpus * perVcpu * 1024,
      architecture: isArm ? "arm64" : "x86_64",
      burstable: false,
    }));
}

function burstableTypes(family: string): InstanceType[] {
  return burstable.map(([size, vcpus, gib]) => ({
    id: `${family}.${size}`,
    tags: {},
    vcpus: family === "t2" && gib < 4 ? 1 : vcpus,
    memoryMib: gib * 1024,
    architecture: family === "t4g" ? "arm64" : "x86_64",
    burstable: true,
  }));
}

/** An instance type by its name. Throws InvalidInstanceType. */
export function instanceTypeOf(name: string): InstanceType {
  const type = instanceTypes.get(name);
  if (type !== undefined) return type;
  throw new ApiError("InvalidParameterValue", `Invalid value '${name}' for InstanceType.`);
}

const describeInstanceTypes: Handler = (scope, params) => {
  const names = params.texts("InstanceType");
  const missing = names.filter((name) => !instanceTypes.has(name));
  if (missing.length > 0) {
    throw new ApiError(
      "InvalidInstanceType",
      `The following supplied instance types do not exist: [${missing.join(", ")}]`,
    );
  }
  const rows = names.length > 0 ? names.map(instanceTypeOf) : [...instanceTypes.values()];
  return describeRows(scope, params, rows, {
    set: "instanceTypeSet",
    filters: typeFilters,
    wire: typeWire,
  });
};

const typeFilters: Filters<InstanceType> = {
  "instance-type": ({ id }) => [id],
  "vcpu-info.default-vcpus": ({ vcpus }) => [String(vcpus)],
  "memory-info.size-in-mib": ({ memoryMib }) => [String(memoryMib)],
  "processor-info.supported-architecture": ({ architecture }) => [architecture],
  "current-generation": ({ id }) => [String(!/^(t2|m4)\./.test(id))],
  "burstable-performance-supported": (type) => [String(type.burstable)],
};

function typeWire(type: InstanceType): WireObject {
  return {
    instanceType: type.id,
    currentGeneration: !/^(t2|m4)\./.test(type.id),
    freeTierEligible: false,
    supportedUsageClasses: ["on-demand", "spot"],
    supportedRootDeviceTypes: ["ebs"],
    supportedVirtualizationTypes: ["hvm"],
    bareMetal: false,
    hypervisor: "nitro",
    processorInfo: { supportedArchitectures: [type.architecture] },
    vCpuInfo: { defaultVCpus: type.vcpus, defaultCores: Math.ceil(type.vcpus / 2) },
    memoryInfo: { sizeInMiB: type.memoryMib },
    instanceStorageSupported: false,
    burstablePerformanceSupported: type.burstable,
  };
}

const describeOfferings: Handler = (scope, params) => {
  const by = params.text("LocationType") ?? "region";
  const places: Readonly<Record<string, readonly string[]>> = {
    region: [scope.region],
    "availability-zone": zonesOf(scope.region),
    "availability-zone-id": zonesOf(scope.region).map(zoneIdOf),
  };
  const locations = places[by];
  if (locations === undefined)
    throw invalidValue(`Value (${by}) for parameter locationType is invalid.`);
  const rows = locations.flatMap((location) =>
    [...instanceTypes.values()].map(({ id }) => ({
      id: `${location}/${id}`,
      tags: {},
      type: id,
      location,
    })),
  );
  return describeRows(scope, params, rows, {
    set: "instanceTypeOfferingSet",
    filters: { "instance-type": ({ type }) => [type], location: ({ location }) => [location] },
    wire: ({ type, location }) => ({ instanceType: type, locationType: by, location }),
  });
};

const describeZones: Handler = (scope, params) => {
  const { region } = scope;
  params.ignore("AllAvailabilityZones");
  const [names, ids] = [params.texts("ZoneName"), params.texts("ZoneId")];
  const zones = zonesOf(region);
  const unknown = names.filter((name) => !zones.includes(name));
  if (unknown.length > 0) {
    throw new ApiError(
      "InvalidParameterValue",
      `Invalid availability zone: [${unknown.join(", ")}]`,
    );
  }
  const rows = zones
    .filter((zone) => names.length === 0 || names.includes(zone))
    .filter((zone) => ids.length === 0 || ids.includes(zoneIdOf(zone)))
    .map((id) => ({ id, tags: {} }));
  const { availabilityZoneInfo } = describeRows(scope, params, rows, {
    set: "availabilityZoneInfo",
    filters: {
      "zone-name": ({ id }) => [id],
      "zone-id": ({ id }) => [zoneIdOf(id)],
      "zone-type": () => ["availability-zone"],
      "region-name": () => [region],
      "opt-in-status": () => ["opt-in-not-required"],
      state: () => ["available"],
    },
    wire: ({ id }) => zoneWire(id, region),
  });
  return { availabilityZoneInfo };
};

function zoneWire(zone: string, region: string): WireObject {
  return {
    zoneName: zone,
    zoneId: zoneIdOf(zone),
    zoneState: "available",
    zoneType: "availability-zone",
    groupName: `${region}-zg-1`,
    networkBorderGroup: region,
    optInStatus: "opt-in-not-required",
    regionName: region,
    messageSet: [],
  };
}

const describeRegions: Handler = ({ region }, params) => {
  params.ignoreAll();
  const regionEndpoint = `ec2.${region}.amazonaws.com`;
  return {
    regionInfo: [{ regionName: region, regionEndpoint, optInStatus: "opt-in-not-required" }],
  };
};

const describeAccountAttributes: Handler = (scope, params) => {
  const asked = params.texts("AttributeName");
  const { addresses, groupsPerInterface } = scope.settings.quotas;
  const values: Readonly<Record<string, string>> = {
    "supported-platforms": "VPC",
    "default-vpc": defaultVpcOf(scope),
    "max-instances": "20",
    "vpc-max-security-groups-per-interface": String(groupsPerInterface),
    "max-elastic-ips": String(addresses),
    "vpc-max-elastic-ips": String(addresses),
  };
  const accountAttributeSet = Object.entries(values)
    .filter(([attributeName]) => asked.length === 0 || asked.includes(attributeName))
    .map(([attributeName, attributeValue]) => ({
      attributeName,
      attributeValueSet: [{ attributeValue }],
    }));
  return { accountAttributeSet };
};

function defaultVpcOf({ db }: Scope): string {
  return db.all("vpcs").find(({ isDefault }) => isDefault)?.id ?? "none";
}

export const offerLooks = {
  DescribeInstanceTypes: describeInstanceTypes,
  DescribeInstanceTypeOfferings: describeOfferings,
  DescribeAvailabilityZones: describeZones,
  DescribeRegions: describeRegions,
  DescribeAccountAttributes: describeAccountAttributes,
};
