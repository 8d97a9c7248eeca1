import type { IpPermission, Tag } from "@aws-sdk/client-ec2";
import { type JsonObject, sameJson } from "../../../src/api/json.js";
import type { World } from "../../../src/provider-conformance/index.js";
import type { Clock, Identity, InfrastructureProvider } from "../../../src/provider/port.js";
import type { Moto } from "./moto.js";
import { MisbehavingWorld } from "./misbehaviour.js";
import { freeRange } from "./ranges.js";
import type { WatchedEc2 } from "./watched-ec2.js";

/** Below it, ranges are the suite's own. */
const firstPlanted = 512;

/** A provider of EC2 on a moto that has nothing but what each account has. */
export class Ec2World extends MisbehavingWorld implements World {
  readonly clusterUid = "uid-1";
  readonly clock: Clock;
  readonly lacks = {
    partial: "a region answers as a whole",
    plantNamesake: "instances have no names",
    refuseNextRemoval: "a termination that is accepted is carried out",
    conflictNextChange: "no change is refused as out of date",
  };
  readonly plantMany?: NonNullable<World["plantMany"]>;
  private planted = firstPlanted;

  /** `isLarge`: it takes a thousand of each kind, which takes moto a while. */
  constructor(
    private readonly moto: Moto,
    private readonly watched: WatchedEc2,
    readonly provider: InfrastructureProvider,
    { clock, isLarge }: { readonly clock: Clock; readonly isLarge: boolean },
  ) {
    super(watched);
    this.clock = clock;
    if (!isLarge) return;
    // One after the other: asked by several at once, moto now and then answers with an error.
    this.plantMany = async (whos, spec) => {
      for (const who of whos) await this.plant(who, spec);
    };
  }

  async plant(who: Identity, spec: JsonObject): Promise<string> {
    const { ec2 } = this.moto;
    this.planted += 1;
    const number = this.planted;
    const Tags = tagsOf(who);
    switch (who.kind) {
      case "Ec2Subnet": {
        const CidrBlock = freeRange(number);
        const VpcId = text(spec, "vpcId");
        const TagSpecifications = [{ ResourceType: "subnet" as const, Tags }];
        const { Subnet } = await ec2.createSubnet({ VpcId, CidrBlock, TagSpecifications });
        return Subnet?.SubnetId ?? "";
      }
      case "Ec2Group": {
        const [GroupName, Description] = [`planted-${number}`, "planted"];
        const VpcId = text(spec, "vpcId");
        const TagSpecifications = [{ ResourceType: "security-group" as const, Tags }];
        const wanted = { VpcId, GroupName, Description, TagSpecifications };
        return (await ec2.createSecurityGroup(wanted)).GroupId ?? "";
      }
      default: {
        const TagSpecifications = [{ ResourceType: "instance" as const, Tags }];
        const { Instances = [] } = await ec2.runInstances({
          MinCount: 1,
          MaxCount: 1,
          ImageId: text(spec, "imageId"),
          InstanceType: text(spec, "instanceType") as "t3.medium",
          SubnetId: text(spec, "subnetId"),
          SecurityGroupIds: [text(spec, "securityGroupId")],
          TagSpecifications,
        });
        return Instances[0]?.InstanceId ?? "";
      }
    }
  }

  plantTwin(who: Identity, spec: JsonObject): Promise<string> {
    return this.plant(who, spec);
  }

  async countAlive(who: Identity): Promise<number> {
    return (await this.everything()).filter(({ marks }) => sameJson(marks, who)).length;
  }

  async alive(): Promise<string[]> {
    return (await this.everything()).map(({ id }) => id);
  }

  async partsOf(id: string): Promise<string[]> {
    const volumes = await this.volumes();
    return volumes.filter(({ user }) => user === id).map((volume) => volume.id);
  }

  /** Moto changes the type of a running instance, too. Images and subnets stay. */
  async mutate(id: string, fields: JsonObject): Promise<boolean> {
    const { instanceType, from } = fields;
    if (typeof instanceType === "string") {
      const InstanceType = { Value: instanceType };
      await this.moto.ec2.modifyInstanceAttribute({ InstanceId: id, InstanceType });
      return true;
    }
    if (!Array.isArray(from)) return false;
    const { ec2 } = this.moto;
    const { SecurityGroups: [group] = [] } = await ec2.describeSecurityGroups({ GroupIds: [id] });
    const before = group?.IpPermissions ?? [];
    if (before.length > 0) {
      await ec2.revokeSecurityGroupIngress({ GroupId: id, IpPermissions: before });
    }
    const IpPermissions: IpPermission[] = from.map((range) => ({
      IpProtocol: "-1",
      IpRanges: [{ CidrIp: String(range) }],
    }));
    if (from.length > 0) await ec2.authorizeSecurityGroupIngress({ GroupId: id, IpPermissions });
    return true;
  }

  async stop(id: string): Promise<void> {
    await this.moto.ec2.stopInstances({ InstanceIds: [id] });
  }

  async kill(id: string): Promise<void> {
    const { ec2 } = this.moto;
    if (id.startsWith("subnet-")) await ec2.deleteSubnet({ SubnetId: id });
    else if (id.startsWith("sg-")) await ec2.deleteSecurityGroup({ GroupId: id });
    else await ec2.terminateInstances({ InstanceIds: [id] });
  }

  /** The clients' connections end with them. */
  close(): void {
    this.watched.client.destroy();
  }

  /** All that somebody has made, as moto has it. */
  private async everything(): Promise<{ readonly id: string; readonly marks: JsonObject }[]> {
    const { ec2 } = this.moto;
    const instances = await this.moto.alive();
    const { Subnets = [] } = await ec2.describeSubnets({});
    const { SecurityGroups = [] } = await ec2.describeSecurityGroups({});
    const volumes = await this.volumes();
    return [
      ...volumes.map(({ id }) => made(id)),
      ...instances.map(({ InstanceId, Tags }) => made(InstanceId, Tags)),
      ...Subnets.filter(({ DefaultForAz }) => DefaultForAz !== true).map(({ SubnetId, Tags }) =>
        made(SubnetId, Tags),
      ),
      ...SecurityGroups.filter(({ GroupName }) => GroupName !== "default").map(
        ({ GroupId, Tags }) => made(GroupId, Tags),
      ),
    ];
  }

  /** The roots of instances, which bear no marks. */
  private async volumes(): Promise<{ readonly id: string; readonly user: string | undefined }[]> {
    const { Volumes = [] } = await this.moto.ec2.describeVolumes({});
    return Volumes.map(({ VolumeId: id = "", Attachments: [attached] = [] }) => ({
      id,
      user: attached?.InstanceId,
    }));
  }
}

function made(id = "", tags: readonly Tag[] = []) {
  const marks = tags.flatMap(({ Key = "", Value = "" }) =>
    Key.startsWith("capstan:") ? [[Key.slice("capstan:".length), Value] as const] : [],
  );
  return { id, marks: Object.fromEntries(marks) };
}

function tagsOf(who: Identity): Tag[] {
  const { cluster, clusterUid, kind, name, token } = who;
  const marks = { cluster, clusterUid, kind, name, token };
  return Object.entries(marks).map(([mark, Value]) => ({ Key: `capstan:${mark}`, Value }));
}

function text(spec: JsonObject, field: string): string {
  const value = spec[field];
  if (typeof value !== "string") throw new Error(`a spec to be planted has no ${field}`);
  return value;
}
