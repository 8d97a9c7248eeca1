// Attributes of instances, and what they print.

import { omitUndefined } from "../../../../src/api/omit-undefined.js";
import { ApiError, invalidValue } from "../protocol/api-error.js";
import type { Params } from "../protocol/params.js";
import { type Wire, wireTime } from "../protocol/xml.js";
import type { Handler, Scope } from "../model/scope.js";
import type { InstanceRow } from "../model/tables.js";
import { deviceWire, interfacesOf } from "./instance-views.js";
import { checkedGroups, groupSet } from "./interfaces.js";
import { mustGet } from "./kinds.js";
import { metadataOf } from "./metadata.js";
import { instanceTypeOf } from "./offers.js";

const modifyInstanceAttribute: Handler = (scope, params) => {
  const row = mustGet(scope, "instances", params.required("InstanceId"));
  const groups = params.texts("GroupId");
  const mappings = params.objects("BlockDeviceMapping");
  const changes = { ...changedWhileStopped(row, params), ...changedAnyTime(params) };
  const isNothing =
    Object.keys(changes).length === 0 && groups.length === 0 && mappings.length === 0;
  if (isNothing) {
    throw new ApiError("InvalidParameterCombination", "No attributes specified.");
  }
  scope.db.put("instances", { ...row, ...changes });
  const [first] = interfacesOf(scope, row.id);
  if (first !== undefined) {
    const groupIds = groups.length > 0 ? checkedGroups(scope, groups, first.vpcId) : first.groupIds;
    const { sourceDestCheck = first.sourceDestCheck } = changes;
    scope.db.put("interfaces", { ...first, groupIds, sourceDestCheck });
  }
  for (const mapping of mappings) changeMapping(scope, row, mapping);
  return { return: true };
};

/** Throws IncorrectInstanceState while the instance is not stopped. */
function changedWhileStopped(row: InstanceRow, params: Params): Partial<InstanceRow> {
  const type = valueOf(params, "InstanceType", "instanceType");
  const userData = params.object("UserData")?.text("Value");
  const ebsOptimized = params.object("EbsOptimized")?.flag("Value");
  const changes = omitUndefined<Partial<InstanceRow>>({
    instanceType: type === undefined ? undefined : checkedType(row, type),
    userData,
    ebsOptimized,
  });
  if (Object.keys(changes).length === 0 || row.state === "stopped") return changes;
  throw new ApiError(
    "IncorrectInstanceState",
    `The instance '${row.id}' is not in the 'stopped' state.`,
  );
}

function checkedType({ architecture }: InstanceRow, name: string): string {
  const type = instanceTypeOf(name);
  if (type.architecture === architecture) return type.id;
  throw invalidValue(
    `The architecture '${type.architecture}' of the specified instance type does not match the architecture '${architecture}' of the specified AMI.`,
  );
}

function changedAnyTime(params: Params): Partial<InstanceRow> {
  const flag = (name: string, attribute: string) => {
    const value = params.object(name)?.flag("Value");
    const text = value === undefined ? valueOf(params, name, attribute) : undefined;
    return value ?? (text === undefined ? undefined : text === "true");
  };
  const disableApiTermination = flag("DisableApiTermination", "disableApiTermination");
  const disableApiStop = flag("DisableApiStop", "disableApiStop");
  const sourceDestCheck = params.object("SourceDestCheck")?.flag("Value");
  const shutdownBehavior = valueOf(
    params,
    "InstanceInitiatedShutdownBehavior",
    "instanceInitiatedShutdownBehavior",
  );
  return omitUndefined<Partial<InstanceRow>>({
    disableApiTermination,
    disableApiStop,
    sourceDestCheck,
    shutdownBehavior,
  });
}

/** An attribute has a parameter of its own, or is named by `Attribute` and `Value`. */
function valueOf(params: Params, name: string, attribute: string): string | undefined {
  const own = params.object(name)?.text("Value");
  if (own !== undefined || params.text("Attribute") !== attribute) return own;
  return params.required("Value");
}

function changeMapping(scope: Scope, row: InstanceRow, mapping: Params): void {
  const device = mapping.required("DeviceName");
  const deleteOnTermination = mapping.object("Ebs")?.flag("DeleteOnTermination");
  const volume = scope.db
    .all("volumes")
    .find(({ attachment }) => attachment?.instanceId === row.id && attachment.device === device);
  if (volume?.attachment === undefined) {
    throw new ApiError(
      "InvalidInstanceAttributeValue",
      `No device is currently mapped at ${device}`,
    );
  }
  if (deleteOnTermination === undefined) return;
  const attachment = { ...volume.attachment, deleteOnTermination };
  scope.db.put("volumes", { ...volume, attachment });
}

const describeInstanceAttribute: Handler = (scope, params) => {
  const row = mustGet(scope, "instances", params.required("InstanceId"));
  const attribute = params.required("Attribute");
  const [first] = interfacesOf(scope, row.id);
  const values: Readonly<Record<string, Wire>> = {
    instanceType: { value: row.instanceType },
    userData: row.userData === undefined ? {} : { value: row.userData },
    disableApiTermination: { value: row.disableApiTermination },
    disableApiStop: { value: row.disableApiStop },
    instanceInitiatedShutdownBehavior: { value: row.shutdownBehavior },
    rootDeviceName: { value: row.rootDevice },
    ebsOptimized: { value: row.ebsOptimized },
    sourceDestCheck: { value: first?.sourceDestCheck ?? row.sourceDestCheck },
    enaSupport: { value: true },
    sriovNetSupport: { value: "simple" },
    blockDeviceMapping: deviceWire(row, scope),
    groupSet: groupSet(scope, first?.groupIds ?? []),
    productCodes: [],
  };
  if (!(attribute in values)) {
    throw invalidValue(
      `Value (${attribute}) for parameter attribute is invalid. Unknown attribute.`,
    );
  }
  return { instanceId: row.id, [attribute]: values[attribute] };
};

const modifyMetadataOptions: Handler = (scope, params) => {
  const row = mustGet(scope, "instances", params.required("InstanceId"));
  const metadata = metadataOf(params, row.metadata);
  scope.db.put("instances", { ...row, metadata });
  return { instanceId: row.id, instanceMetadataOptions: { state: "pending", ...metadata } };
};

const getConsoleOutput: Handler = (scope, params) => {
  params.ignore("Latest");
  const row = mustGet(scope, "instances", params.required("InstanceId"));
  const output = row.console === "" ? undefined : Buffer.from(row.console).toString("base64");
  return { instanceId: row.id, timestamp: wireTime(scope.nowMs), output };
};

export const attributeLooks = {
  DescribeInstanceAttribute: describeInstanceAttribute,
  GetConsoleOutput: getConsoleOutput,
};
export const attributeChanges = {
  ModifyInstanceAttribute: modifyInstanceAttribute,
  ModifyInstanceMetadataOptions: modifyMetadataOptions,
};
