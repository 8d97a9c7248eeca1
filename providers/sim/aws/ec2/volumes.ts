// Volumes.

import { omitUndefined } from "../../../../src/api/omit-undefined.js";
import { ApiError, invalidValue } from "../protocol/api-error.js";
import { type WireObject, wireTime } from "../protocol/xml.js";
import { type Handler, later, newId, never, onceByToken, type Scope } from "../model/scope.js";
import type { VolumeAttachment, VolumeRow } from "../model/tables.js";
import { mustGet } from "./kinds.js";
import { describer, describeRows, type Filters, rowsOf } from "./listing.js";
import { tagSet, tagsOfNew } from "./tagging.js";
import { performanceOf } from "./volume-types.js";
import { zoneIdOf, zonesOf } from "./zones.js";

const createVolume: Handler = (scope, params) => {
  const id = onceByToken(scope, "CreateVolume", params, (clientToken) => {
    const zone = params.required("AvailabilityZone");
    if (!zonesOf(scope.region).includes(zone)) {
      throw new ApiError("InvalidZone.NotFound", `The zone '${zone}' does not exist.`);
    }
    const sizeGib = params.number("Size");
    if (sizeGib === undefined) {
      throw new ApiError(
        "MissingParameter",
        "The request must contain the parameter size/snapshot",
      );
    }
    const row = omitUndefined<VolumeRow>({
      id: newId(scope, "vol"),
      tags: tagsOfNew(scope, params, "volumes"),
      zone,
      encrypted: params.flag("Encrypted") ?? false,
      snapshotId: params.text("SnapshotId") ?? "",
      createdAtMs: scope.nowMs,
      state: "creating",
      ...performanceOf(sizeGib, params.text("VolumeType") ?? "gp2", {
        iops: params.number("Iops"),
        throughput: params.number("Throughput"),
      }),
      kmsKeyId: params.text("KmsKeyId"),
      clientToken,
    });
    scope.db.put("volumes", row);
    later(scope, "volumeIsReady", row.id, scope.settings.durations.volumeMs);
    return row.id;
  });
  return wireOf(mustGet(scope, "volumes", id));
};

const deleteVolume: Handler = (scope, params) => {
  const { id, state, attachment } = mustGet(scope, "volumes", params.required("VolumeId"));
  if (attachment !== undefined) {
    throw new ApiError(
      "VolumeInUse",
      `Volume ${id} is currently attached to ${attachment.instanceId}`,
    );
  }
  if (state === "creating") {
    throw new ApiError("IncorrectState", `The volume '${id}' is in the 'creating' state.`);
  }
  never(scope, "volumeIsModified", id);
  scope.db.remove("volumes", id);
  return { return: true };
};

const attachVolume: Handler = (scope, params) => {
  const volume = mustGet(scope, "volumes", params.required("VolumeId"));
  const instance = mustGet(scope, "instances", params.required("InstanceId"));
  const device = params.required("Device");
  if (volume.attachment !== undefined) {
    throw new ApiError("VolumeInUse", `${volume.id} is already attached to an instance`);
  }
  if (volume.state !== "available") {
    throw new ApiError("IncorrectState", `The volume '${volume.id}' is not 'available'.`);
  }
  if (instance.state !== "running" && instance.state !== "stopped") {
    throw new ApiError("IncorrectState", `Instance '${instance.id}' is not 'running'.`);
  }
  if (volume.zone !== instance.zone) {
    throw new ApiError(
      "InvalidVolume.ZoneMismatch",
      `The volume '${volume.id}' is not in the same availability zone as instance '${instance.id}'`,
    );
  }
  if (isDeviceTaken(scope, instance.id, device)) {
    throw invalidValue(
      `Invalid value '${device}' for unixDevice. Attachment point ${device} is already in use`,
    );
  }
  const attachment: VolumeAttachment = {
    instanceId: instance.id,
    device,
    state: "attaching",
    deleteOnTermination: false,
    attachedAtMs: scope.nowMs,
  };
  scope.db.put("volumes", { ...volume, state: "in-use", attachment });
  later(scope, "volumeIsReady", volume.id, scope.settings.durations.volumeMs);
  return attachmentWire(volume.id, attachment);
};

function isDeviceTaken({ db }: Scope, instanceId: string, device: string): boolean {
  return db
    .all("volumes")
    .some(
      ({ attachment }) => attachment?.instanceId === instanceId && attachment.device === device,
    );
}

const detachVolume: Handler = (scope, params) => {
  params.ignore("Force");
  const volume = mustGet(scope, "volumes", params.required("VolumeId"));
  const [instanceId, device] = [params.text("InstanceId"), params.text("Device")];
  const { attachment } = volume;
  if (attachment === undefined) {
    throw new ApiError("IncorrectState", `Volume '${volume.id}' is in the 'available' state.`);
  }
  const isOther =
    (instanceId !== undefined && attachment.instanceId !== instanceId) ||
    (device !== undefined && attachment.device !== device);
  if (isOther) {
    throw new ApiError(
      "InvalidAttachment.NotFound",
      `Volume '${volume.id}' is not attached to instance '${instanceId ?? ""}' as device '${device ?? ""}'`,
    );
  }
  checkNotRoot(scope, attachment);
  // Asked for again it goes on: whoever asks more often than it takes would keep it for ever.
  if (attachment.state === "detaching") return attachmentWire(volume.id, attachment);
  never(scope, "volumeIsReady", volume.id);
  const detaching = { ...attachment, state: "detaching" } as const;
  scope.db.put("volumes", { ...volume, attachment: detaching });
  later(scope, "volumeIsDetached", volume.id, scope.settings.durations.volumeMs);
  return attachmentWire(volume.id, detaching);
};

function checkNotRoot({ db }: Scope, { instanceId, device }: VolumeAttachment): void {
  const instance = db.get("instances", instanceId);
  if (instance?.rootDevice !== device || instance.state === "stopped") return;
  throw new ApiError(
    "OperationNotPermitted",
    `Unable to detach root volume '${device}' from instance '${instanceId}'`,
  );
}

/** EC2 takes the next change of a volume only after so long. */
const betweenChangesMs = 6 * 60 * 60 * 1000;

const modifyVolume: Handler = (scope, params) => {
  const volume = mustGet(scope, "volumes", params.required("VolumeId"));
  const { modification, sizeGib } = volume;
  if (modification !== undefined && scope.nowMs < modification.atMs + betweenChangesMs) {
    throw new ApiError(
      "VolumeModificationRateExceeded",
      "You've reached the maximum modification rate per volume limit. Wait at least 6 hours between modifications per EBS volume.",
    );
  }
  const size = params.number("Size") ?? sizeGib;
  if (size < sizeGib) throw invalidValue("New size cannot be smaller than existing size");
  const type = params.text("VolumeType") ?? volume.type;
  const isSameType = type === volume.type && type.startsWith("io");
  const iops = params.number("Iops") ?? (isSameType ? volume.iops : undefined);
  const { iops: _, throughput: __, ...rest } = volume;
  const row: VolumeRow = {
    ...rest,
    ...performanceOf(size, type, { iops, throughput: params.number("Throughput") }),
    modification: { atMs: scope.nowMs, from: performanceFields(volume), state: "modifying" },
  };
  scope.db.put("volumes", row);
  later(scope, "volumeIsModified", row.id, scope.settings.durations.volumeMs);
  return { volumeModification: modificationWire(row) };
};

type Performance = Pick<VolumeRow, "sizeGib" | "type" | "iops" | "throughput">;

function performanceFields({ sizeGib, type, iops, throughput }: VolumeRow): Performance {
  return omitUndefined<Performance>({ sizeGib, type, iops, throughput });
}

/** What happens to volumes by itself. */
export const volumeTimers = {
  volumeIsReady: (scope: Scope, id: string) => {
    const row = scope.db.get("volumes", id);
    if (row === undefined) return;
    const { attachment } = row;
    if (attachment === undefined) return scope.db.put("volumes", { ...row, state: "available" });
    scope.db.put("volumes", { ...row, attachment: { ...attachment, state: "attached" } });
  },
  volumeIsDetached: (scope: Scope, id: string) => {
    const row = scope.db.get("volumes", id);
    if (row === undefined) return;
    const { attachment: _, ...rest } = row;
    scope.db.put("volumes", { ...rest, state: "available" });
  },
  volumeIsModified: (scope: Scope, id: string) => {
    const row = scope.db.get("volumes", id);
    if (row?.modification === undefined) return;
    const modification = { ...row.modification, state: "completed" } as const;
    scope.db.put("volumes", { ...row, modification });
  },
};

function wireOf(row: VolumeRow): WireObject {
  const { id, attachment } = row;
  return {
    volumeId: id,
    size: row.sizeGib,
    snapshotId: row.snapshotId,
    availabilityZone: row.zone,
    availabilityZoneId: zoneIdOf(row.zone),
    status: row.state,
    createTime: wireTime(row.createdAtMs),
    attachmentSet: attachment === undefined ? [] : [attachmentWire(id, attachment)],
    tagSet: tagSet(row.tags),
    volumeType: row.type,
    iops: row.iops,
    throughput: row.throughput,
    encrypted: row.encrypted,
    kmsKeyId: row.kmsKeyId,
    multiAttachEnabled: false,
  };
}

function attachmentWire(volumeId: string, attachment: VolumeAttachment): WireObject {
  const { instanceId, device, state, deleteOnTermination, attachedAtMs } = attachment;
  const attachTime = wireTime(attachedAtMs);
  return { volumeId, instanceId, device, status: state, attachTime, deleteOnTermination };
}

function modificationWire({ id, modification, ...row }: VolumeRow): WireObject {
  return {
    volumeId: id,
    modificationState: modification?.state,
    targetSize: row.sizeGib,
    targetIops: row.iops,
    targetVolumeType: row.type,
    targetThroughput: row.throughput,
    originalSize: modification?.from.sizeGib,
    originalIops: modification?.from.iops,
    originalVolumeType: modification?.from.type,
    originalThroughput: modification?.from.throughput,
    progress: modification?.state === "completed" ? 100 : 0,
    startTime: modification && wireTime(modification.atMs),
  };
}

const filters: Filters<VolumeRow> = {
  "volume-id": ({ id }) => [id],
  "availability-zone": ({ zone }) => [zone],
  status: ({ state }) => [state],
  size: ({ sizeGib }) => [String(sizeGib)],
  "volume-type": ({ type }) => [type],
  "snapshot-id": ({ snapshotId }) => [snapshotId],
  encrypted: ({ encrypted }) => [String(encrypted)],
  "attachment.instance-id": ({ attachment }) => [attachment?.instanceId],
  "attachment.device": ({ attachment }) => [attachment?.device],
  "attachment.status": ({ attachment }) => [attachment?.state],
  "attachment.delete-on-termination": ({ attachment }) => [
    attachment && String(attachment.deleteOnTermination),
  ],
};

const describeModifications: Handler = (scope, params) => {
  const rows = rowsOf(scope, "volumes", params.texts("VolumeId")).filter(
    ({ modification }) => modification !== undefined,
  );
  return describeRows(scope, params, rows, {
    set: "volumeModificationSet",
    filters: {
      "volume-id": ({ id }) => [id],
      "modification-state": ({ modification }) => [modification?.state],
    },
    wire: modificationWire,
  });
};

export const volumeLooks = {
  DescribeVolumes: describer({
    table: "volumes",
    ids: "VolumeId",
    set: "volumeSet",
    filters,
    wire: wireOf,
  }),
  DescribeVolumesModifications: describeModifications,
};
export const volumeChanges = {
  CreateVolume: createVolume,
  DeleteVolume: deleteVolume,
  AttachVolume: attachVolume,
  DetachVolume: detachVolume,
  ModifyVolume: modifyVolume,
};
