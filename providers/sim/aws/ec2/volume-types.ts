// What the types of EBS volumes allow.

import { omitUndefined } from "../../../../src/api/omit-undefined.js";
import { ApiError, invalidValue } from "../protocol/api-error.js";
import type { VolumeRow } from "../model/tables.js";

interface VolumeType {
  readonly leastGib: number;
  readonly mostGib: number;
  /** What it has without being asked; undefined: nothing that could be asked for. */
  readonly iops?: (sizeGib: number) => number;
  readonly throughput?: number;
  readonly takesIops?: true;
  /** Fewer cannot be asked for, and more for each GiB neither. */
  readonly leastIops?: number;
  readonly mostIopsPerGib?: number;
  /** MiB/s for each operation per second. */
  readonly mostThroughputPerIops?: number;
}

/** Source: EBS user guide, "General Purpose SSD volumes" and "Provisioned IOPS SSD volumes". */
const volumeTypes: Readonly<Record<string, VolumeType>> = {
  gp2: { leastGib: 1, mostGib: 16_384, iops: (gib) => Math.min(16_000, Math.max(100, gib * 3)) },
  gp3: {
    leastGib: 1,
    mostGib: 65_536,
    iops: () => 3_000,
    throughput: 125,
    takesIops: true,
    leastIops: 3_000,
    mostIopsPerGib: 500,
    mostThroughputPerIops: 0.25,
  },
  io1: { leastGib: 4, mostGib: 16_384, takesIops: true, leastIops: 100, mostIopsPerGib: 50 },
  io2: { leastGib: 4, mostGib: 65_536, takesIops: true, leastIops: 100, mostIopsPerGib: 1_000 },
  st1: { leastGib: 125, mostGib: 16_384 },
  sc1: { leastGib: 125, mostGib: 16_384 },
  standard: { leastGib: 1, mostGib: 1_024 },
};

interface Performance {
  readonly iops?: number | undefined;
  readonly throughput?: number | undefined;
}

/** Size, type and performance of a volume. Throws for what the type does not allow. */
export function performanceOf(
  sizeGib: number,
  type: string,
  { iops, throughput }: Performance,
): Pick<VolumeRow, "sizeGib" | "type" | "iops" | "throughput"> {
  const traits = volumeTypes[type];
  if (traits === undefined) {
    throw new ApiError("UnknownVolumeType", `Unknown volume type '${type}'`);
  }
  const { leastGib, mostGib } = traits;
  if (sizeGib < leastGib || sizeGib > mostGib) {
    throw new ApiError(
      "InvalidParameterValue",
      `Volume of ${sizeGib}GiB is ${sizeGib < leastGib ? "too small" : "too large"} for volume type ${type}; ${sizeGib < leastGib ? `minimum is ${leastGib}` : `maximum is ${mostGib}`} GiB.`,
    );
  }
  if (iops !== undefined && traits.takesIops !== true) {
    throw new ApiError(
      "InvalidParameterCombination",
      `The parameter iops is not supported for ${type} volumes.`,
    );
  }
  if (throughput !== undefined && traits.throughput === undefined) {
    throw new ApiError(
      "InvalidParameterCombination",
      `The parameter throughput is not supported for ${type} volumes.`,
    );
  }
  if (iops === undefined && traits.iops === undefined && traits.takesIops === true) {
    throw new ApiError("MissingParameter", `The request must contain the parameter iops`);
  }
  checkRatios(sizeGib, traits, { iops, throughput });
  return omitUndefined({
    sizeGib,
    type,
    iops: iops ?? traits.iops?.(sizeGib),
    throughput: throughput ?? traits.throughput,
  });
}

/** Of what is asked for: what a type has without being asked, small volumes of it have too. */
function checkRatios(sizeGib: number, traits: VolumeType, asked: Performance): void {
  const { leastIops = 0, mostIopsPerGib = Infinity, mostThroughputPerIops = Infinity } = traits;
  const { iops, throughput = 0 } = asked;
  if (iops !== undefined && iops < leastIops) {
    throw invalidValue(`Volume iops of ${iops} is too low; minimum is ${leastIops}.`);
  }
  if (iops !== undefined && iops > leastIops && iops > sizeGib * mostIopsPerGib) {
    throw invalidValue(
      `Iops to volume size ratio of ${iops / sizeGib} is too high; maximum is ${mostIopsPerGib} IOPS per GiB.`,
    );
  }
  const most = (iops ?? traits.iops?.(sizeGib) ?? 0) * mostThroughputPerIops;
  if (throughput > most) {
    throw invalidValue(
      `Throughput of ${throughput} MiBps is too high for the iops; maximum is ${mostThroughputPerIops} MiBps for each.`,
    );
  }
}
