// Which volumes a call of RunInstances wants: the image's own, changed by the call's, and more of them.

import { omitUndefined } from "../../../../src/api/omit-undefined.js";
import { ApiError } from "../protocol/api-error.js";
import type { Params } from "../protocol/params.js";
import { newId, type Scope } from "../model/scope.js";
import type { ImageRow, InstanceRow, Tags, VolumeRow } from "../model/tables.js";
import { performanceOf } from "./volume-types.js";

interface VolumeWish extends Pick<
  VolumeRow,
  "sizeGib" | "type" | "iops" | "throughput" | "encrypted" | "kmsKeyId" | "snapshotId"
> {
  readonly device: string;
  readonly deleteOnTermination: boolean;
}

/** Throws InvalidBlockDeviceMapping for volumes without a size, or smaller than what is in them. */
export function volumeWishes(params: Params, image: ImageRow): readonly VolumeWish[] {
  const snapshotId = `snap-${image.id.slice("ami-".length)}`;
  const root = { snapshotId, sizeGib: image.rootGib };
  const mappings = params.objects("BlockDeviceMapping").flatMap((mapping) => {
    const device = mapping.required("DeviceName");
    if (mapping.text("NoDevice") !== undefined) return [];
    return [wishOf(device, mapping.object("Ebs"), device === image.rootDevice ? root : undefined)];
  });
  if (mappings.some(({ device }) => device === image.rootDevice)) return mappings;
  return [wishOf(image.rootDevice, undefined, root), ...mappings];
}

function wishOf(
  device: string,
  ebs: Params | undefined,
  root: { readonly snapshotId: string; readonly sizeGib: number } | undefined,
): VolumeWish {
  const sizeGib = ebs?.number("VolumeSize") ?? root?.sizeGib;
  if (sizeGib === undefined) {
    throw new ApiError(
      "InvalidBlockDeviceMapping",
      "The request must contain the parameter size or snapshotId",
    );
  }
  if (root !== undefined && sizeGib < root.sizeGib) {
    throw new ApiError(
      "InvalidBlockDeviceMapping",
      `Volume of size ${sizeGib}GB is smaller than snapshot '${root.snapshotId}', expect size >= ${root.sizeGib}GB`,
    );
  }
  return omitUndefined<VolumeWish>({
    device,
    deleteOnTermination: ebs?.flag("DeleteOnTermination") ?? true,
    encrypted: ebs?.flag("Encrypted") ?? false,
    snapshotId: ebs?.text("SnapshotId") ?? root?.snapshotId ?? "",
    ...performanceOf(sizeGib, ebs?.text("VolumeType") ?? "gp3", {
      iops: ebs?.number("Iops"),
      throughput: ebs?.number("Throughput"),
    }),
    kmsKeyId: ebs?.text("KmsKeyId"),
  });
}

export function addInstanceVolumes(
  scope: Scope,
  { id: instanceId, zone }: InstanceRow,
  wishes: readonly VolumeWish[],
  tags: Tags,
): void {
  for (const { device, deleteOnTermination, ...wish } of wishes) {
    scope.db.put("volumes", {
      id: newId(scope, "vol"),
      tags,
      zone,
      createdAtMs: scope.nowMs,
      state: "in-use",
      attachment: {
        instanceId,
        device,
        state: "attached",
        deleteOnTermination,
        attachedAtMs: scope.nowMs,
      },
      ...wish,
    });
  }
}
