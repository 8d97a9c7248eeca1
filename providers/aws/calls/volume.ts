import type { Volume } from "@aws-sdk/client-ec2";
import { isCapstanError } from "../../../src/api/error.js";
import type { JsonObject } from "../../../src/api/json.js";
import { omitUndefined } from "../../../src/api/omit-undefined.js";
import type { MachineCalls } from "../../../src/provider/definition.js";
import { present } from "../../../src/provider/host-spec.js";
import type { CallContext, Found, Observed } from "../../../src/provider/port.js";
import { ifThere } from "./ask.js";
import {
  type AskEc2,
  type Ec2Kind,
  lookingCalls,
  must,
  tagged,
  text,
  updateTags,
} from "./ec2-kind.js";
import { awsNameOf } from "./errors.js";
import { volumeSettings } from "./instance.js";
import { clusterTag, shownTags, whoOf } from "./marks.js";

function shownVolume(volume: Volume): Found {
  const { VolumeId, State, Attachments = [], Tags, VolumeType } = volume;
  const attachment = Attachments.find(
    (one) => one.State !== "detached" && one.State !== "detaching",
  );
  const isAttached = attachment?.State === "attached";
  return omitUndefined<Found>({
    id: must(VolumeId, "VolumeId"),
    who: whoOf(Tags),
    phase: phaseOfVolume(State, isAttached),
    failure: State === "error" ? { reason: "EC2 could not make the volume" } : undefined,
    spec: present({
      instanceId: attachment?.InstanceId,
      zone: volume.AvailabilityZone,
      type: VolumeType,
      encrypted: volume.Encrypted ?? false,
      device: attachment?.Device,
      gib: volume.Size,
      // Of other types they follow from the size.
      iops: ["gp3", "io1", "io2"].includes(VolumeType ?? "") ? volume.Iops : undefined,
      throughput: VolumeType === "gp3" ? volume.Throughput : undefined,
      tags: shownTags(Tags),
    }),
    status: {},
    createdAtMs: volume.CreateTime?.getTime(),
  });
}

/** It is of use once it is attached. */
function phaseOfVolume(state: string | undefined, isAttached: boolean): Found["phase"] {
  if (state === "deleted" || state === "deleting") return "gone";
  if (state === "error") return "failed";
  return isAttached ? "ready" : "pending";
}

function volumeKind(ask: AskEc2): Ec2Kind {
  return {
    idFilter: "volume-id",
    async page(ctx, query) {
      const { Volumes = [], NextToken } = await ask(ctx, "DescribeVolumes", (ec2, options) =>
        ec2.describeVolumes({ ...query, MaxResults: 500 }, options),
      );
      return { resources: Volumes.map(shownVolume), next: NextToken };
    },
  };
}

/** What EC2 changes while a volume is in use. */
const modified = ["gib", "type", "iops", "throughput"] as const;

/** The token is EC2's own. It is attached by update, once its instance runs. */
export function volumeCalls(ask: AskEc2): MachineCalls {
  return {
    ...lookingCalls(ask, volumeKind(ask)),
    // EC2 names a key by its ARN, whatever it was named by.
    unobservable: ["kmsKeyId"],
    tokensLast: true,
    async create(ctx, who, spec) {
      const { VolumeSize, ...settings } = volumeSettings(spec);
      const wanted = {
        ClientToken: who.token,
        AvailabilityZone: text(spec, "zone"),
        Size: VolumeSize,
        ...settings,
        ...tagged("volume", who, { tags: spec["tags"], more: clusterTag(who) }),
      };
      const made = await ask(ctx, "CreateVolume", (ec2, options) =>
        ec2.createVolume(wanted, options),
      );
      return { ...shownVolume(made), who };
    },
    async update(ctx, current, spec) {
      if (current.spec["instanceId"] === undefined) await attach(ask, ctx, current, spec);
      if (modified.some((field) => current.spec[field] !== spec[field])) {
        const { VolumeSize: Size, VolumeType, Iops, Throughput } = volumeSettings(spec);
        const wanted = { VolumeId: current.id, Size, VolumeType, Iops, Throughput };
        await ask(ctx, "ModifyVolume", (ec2, options) => ec2.modifyVolume(wanted, options));
      }
      await updateTags(ask, ctx, current, spec);
      return { ...current, spec };
    },
    async remove(ctx, { id, spec }) {
      const deletion = ask(ctx, "DeleteVolume", (ec2, options) =>
        ec2.deleteVolume({ VolumeId: id }, options),
      );
      try {
        await ifThere(deletion);
      } catch (error) {
        if (!isCapstanError(error) || error.code !== "IN_USE") throw error;
        // It is tried again until the volume is detached.
        await detach(ask, ctx, id, text(spec, "instanceId"));
        throw error;
      }
    },
  };
}

async function detach(
  ask: AskEc2,
  ctx: CallContext,
  VolumeId: string,
  InstanceId: string,
): Promise<void> {
  try {
    const wanted = { VolumeId, InstanceId };
    await ifThere(ask(ctx, "DetachVolume", (ec2, options) => ec2.detachVolume(wanted, options)));
  } catch (error) {
    // What an earlier call has begun.
    if (awsNameOf(error) !== "IncorrectState") throw error;
  }
}

async function attach(
  ask: AskEc2,
  ctx: CallContext,
  { id: VolumeId }: Observed,
  spec: JsonObject,
): Promise<void> {
  const wanted = { VolumeId, InstanceId: text(spec, "instanceId"), Device: text(spec, "device") };
  await ask(ctx, "AttachVolume", (ec2, options) => ec2.attachVolume(wanted, options));
}
