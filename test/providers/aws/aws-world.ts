import type { EC2, ResourceType, Tag } from "@aws-sdk/client-ec2";
import type { ElasticLoadBalancingV2 } from "@aws-sdk/client-elastic-load-balancing-v2";
import { awsProvider } from "../../../providers/aws/provider.js";
import { isJsonObject, type JsonObject, sameJson } from "../../../src/api/json.js";
import { steppingClock, type World } from "../../../src/provider-conformance/index.js";
import type { Clock, Identity, InfrastructureProvider } from "../../../src/provider/port.js";
import type { Moto } from "../../provider/ec2/moto.js";
import { MisbehavingWorld } from "../../provider/ec2/misbehaviour.js";
import { clientsOf, elbOf } from "./aws-moto.js";
import { WatchedClients } from "./watched-clients.js";

interface Made {
  readonly id: string;
  readonly marks: JsonObject;
}

/** Resources that the cloud has once, beside those of a case: made before it. */
export interface Spares {
  readonly vpcIds: readonly string[];
  readonly allocationIds: readonly string[];
}

/** How many of each spare there are. */
const spares = 8;
/** Below it, ranges and ports are the suite's own. */
const firstPlanted = 100;

/** A provider of AWS on a moto that has nothing but what each account has. */
export class AwsWorld extends MisbehavingWorld implements World {
  readonly clusterUid = "uid-1";
  readonly clock: Clock;
  readonly provider: InfrastructureProvider;
  readonly lacks = {
    partial: "a region answers as a whole",
    refuseNextRemoval: "a termination that is accepted is carried out",
    conflictNextChange: "no change is refused as out of date",
  };
  private readonly ec2: EC2;
  private readonly elb: ElasticLoadBalancingV2;
  private planted = firstPlanted;
  private given: readonly string[] = [];

  private constructor(
    moto: Moto,
    clock: Clock,
    private readonly watched: WatchedClients,
  ) {
    super(watched);
    this.clock = clock;
    this.ec2 = moto.ec2;
    this.elb = elbOf(moto);
    this.provider = awsProvider(clientsOf(moto, watched));
  }

  static async open(moto: Moto): Promise<{ world: AwsWorld; spares: Spares }> {
    const clock = steppingClock(Date.now());
    const watched = new WatchedClients(moto.connect().ec2, elbOf(moto), clock);
    const world = new AwsWorld(moto, clock, watched);
    const vpcIds: string[] = [];
    const allocationIds: string[] = [];
    for (let index = 0; index < spares; index += 1) {
      const { Vpc } = await world.ec2.createVpc({ CidrBlock: `172.${16 + index}.0.0/16` });
      vpcIds.push(Vpc?.VpcId ?? "");
      const { AllocationId = "" } = await world.ec2.allocateAddress({ Domain: "vpc" });
      allocationIds.push(AllocationId);
    }
    world.given = (await world.everything()).map(({ id }) => id);
    return { world, spares: { vpcIds, allocationIds } };
  }

  refuseNextCreate(): void {
    this.watched.refusesNext = true;
  }

  async plant(who: Identity, spec: JsonObject): Promise<string> {
    this.planted += 1;
    const Tags = tagsOf(who);
    const of = (ResourceType: ResourceType) => ({ TagSpecifications: [{ ResourceType, Tags }] });
    switch (who.kind) {
      case "AwsVpc": {
        const wanted = { CidrBlock: text(spec, "cidr"), ...of("vpc") };
        return (await this.ec2.createVpc(wanted)).Vpc?.VpcId ?? "";
      }
      case "AwsSubnet": {
        const CidrBlock = `10.0.${this.planted}.0/28`;
        const wanted = { VpcId: text(spec, "vpcId"), CidrBlock, ...of("subnet") };
        return (await this.ec2.createSubnet(wanted)).Subnet?.SubnetId ?? "";
      }
      case "AwsInternetGateway": {
        const made = await this.ec2.createInternetGateway(of("internet-gateway"));
        return made.InternetGateway?.InternetGatewayId ?? "";
      }
      case "AwsElasticIp":
        return (
          (await this.ec2.allocateAddress({ Domain: "vpc", ...of("elastic-ip") })).AllocationId ??
          ""
        );
      case "AwsNatGateway": {
        const { AllocationId = "" } = await this.ec2.allocateAddress({ Domain: "vpc" });
        this.given = [...this.given, AllocationId];
        const wanted = { SubnetId: text(spec, "subnetId"), AllocationId, ...of("natgateway") };
        return (await this.ec2.createNatGateway(wanted)).NatGateway?.NatGatewayId ?? "";
      }
      case "AwsRouteTable": {
        const wanted = { VpcId: text(spec, "vpcId"), ...of("route-table") };
        return (await this.ec2.createRouteTable(wanted)).RouteTable?.RouteTableId ?? "";
      }
      case "AwsVolume": {
        const wanted = { AvailabilityZone: text(spec, "zone"), Size: 1, ...of("volume") };
        return (await this.ec2.createVolume(wanted)).VolumeId ?? "";
      }
      default:
        return who.kind.startsWith("AwsSecurity")
          ? this.plantGroup(who, spec, Tags)
          : this.plantOther(who, spec, Tags);
    }
  }

  private async plantGroup({ kind }: Identity, spec: JsonObject, Tags: Tag[]): Promise<string> {
    if (kind === "AwsSecurityGroup") {
      const [GroupName, Description] = [`planted-${this.planted}`, "planted"];
      const TagSpecifications = [{ ResourceType: "security-group" as const, Tags }];
      const wanted = { VpcId: text(spec, "vpcId"), GroupName, Description, TagSpecifications };
      return (await this.ec2.createSecurityGroup(wanted)).GroupId ?? "";
    }
    const [FromPort, ToPort] = [this.planted, this.planted];
    const permission = { IpProtocol: "tcp", FromPort, ToPort, IpRanges: [{ CidrIp: "0.0.0.0/0" }] };
    const { SecurityGroupRules = [] } = await this.ec2.authorizeSecurityGroupIngress({
      GroupId: text(spec, "groupId"),
      IpPermissions: [permission],
      TagSpecifications: [{ ResourceType: "security-group-rule", Tags }],
    });
    return SecurityGroupRules[0]?.SecurityGroupRuleId ?? "";
  }

  private async plantOther({ kind }: Identity, spec: JsonObject, all: Tag[]): Promise<string> {
    const Tags = all.map(({ Key = "", Value = "" }) => ({ Key, Value }));
    const Name = `planted-${this.planted}`;
    switch (kind) {
      case "AwsLoadBalancer": {
        const wanted = { Name, Type: "network" as const, Subnets: texts(spec, "subnetIds"), Tags };
        const { LoadBalancers = [] } = await this.elb.createLoadBalancer(wanted);
        return LoadBalancers[0]?.LoadBalancerArn ?? "";
      }
      case "AwsTargetGroup": {
        const wanted = {
          Name,
          Protocol: "TCP" as const,
          Port: 1,
          VpcId: text(spec, "vpcId"),
          Tags,
        };
        const { TargetGroups = [] } = await this.elb.createTargetGroup(wanted);
        return TargetGroups[0]?.TargetGroupArn ?? "";
      }
      case "AwsListener": {
        const TargetGroupArn = text(spec, "targetGroupArn");
        const { Listeners = [] } = await this.elb.createListener({
          LoadBalancerArn: text(spec, "loadBalancerArn"),
          Port: this.planted,
          Protocol: "TCP",
          DefaultActions: [{ Type: "forward", TargetGroupArn }],
          Tags,
        });
        return Listeners[0]?.ListenerArn ?? "";
      }
      default: {
        const { Instances = [] } = await this.ec2.runInstances({
          MinCount: 1,
          MaxCount: 1,
          ImageId: text(spec, "imageId"),
          SubnetId: text(spec, "subnetId"),
          SecurityGroupIds: texts(spec, "groupIds"),
          TagSpecifications: [{ ResourceType: "instance", Tags: all }],
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
    const { Volumes = [] } = await this.ec2.describeVolumes({});
    const all = [
      ...(await this.everything()).map(({ id }) => id),
      ...Volumes.map(({ VolumeId = "" }) => VolumeId),
    ];
    return [...new Set(all)].filter((id) => !this.given.includes(id));
  }

  /** The root of an instance, which bears no marks of its own. */
  async partsOf(id: string): Promise<string[]> {
    if (!id.startsWith("i-")) return [];
    const others = (await this.everything()).map((one) => one.id);
    const Filters = [{ Name: "attachment.instance-id", Values: [id] }];
    const { Volumes = [] } = await this.ec2.describeVolumes({ Filters });
    return Volumes.map(({ VolumeId = "" }) => VolumeId).filter((one) => !others.includes(one));
  }

  /** What else can be changed, moto does not change, or everything that the suite made would have to change with it. */
  async mutate(id: string, fields: JsonObject): Promise<boolean> {
    const { metadata, gib } = fields;
    if (isJsonObject(metadata)) {
      const wanted = {
        HttpTokens: String(metadata["httpTokens"]) as "optional",
        HttpPutResponseHopLimit: Number(metadata["hopLimit"]),
      };
      await this.ec2.modifyInstanceMetadataOptions({ InstanceId: id, ...wanted });
      return true;
    }
    if (typeof gib === "number") {
      await this.ec2.modifyVolume({ VolumeId: id, Size: gib });
      return true;
    }
    return false;
  }

  async stop(id: string): Promise<void> {
    await this.ec2.stopInstances({ InstanceIds: [id] });
  }

  async kill(id: string): Promise<void> {
    const presence = this.provider.handlers;
    for (const handler of presence.values()) {
      const found = await handler.find?.(this.context, id).catch(() => undefined);
      if (found?.who === undefined) continue;
      await handler.remove(this.context, { ...found, who: found.who });
      return;
    }
  }

  close(): void {
    this.provider.close?.();
    this.elb.destroy();
  }

  private get context() {
    const { signal } = new AbortController();
    return { clock: this.clock, signal, assertEngineAlive: () => {} };
  }

  /** All that there is, as moto has it. */
  private async everything(): Promise<Made[]> {
    const { ec2 } = this;
    const { Reservations = [] } = await ec2.describeInstances({});
    const instances = Reservations.flatMap(({ Instances = [] }) => Instances);
    const { Vpcs = [] } = await ec2.describeVpcs({});
    const { Subnets = [] } = await ec2.describeSubnets({});
    const { InternetGateways = [] } = await ec2.describeInternetGateways({});
    const { Addresses = [] } = await ec2.describeAddresses({});
    const { NatGateways = [] } = await ec2.describeNatGateways({});
    const { RouteTables = [] } = await ec2.describeRouteTables({});
    const { SecurityGroups = [] } = await ec2.describeSecurityGroups({});
    const { SecurityGroupRules = [] } = await ec2.describeSecurityGroupRules({});
    const { Volumes = [] } = await ec2.describeVolumes({});
    const roots = instances.flatMap(({ BlockDeviceMappings = [], RootDeviceName }) =>
      BlockDeviceMappings.flatMap(({ DeviceName, Ebs }) =>
        DeviceName === RootDeviceName ? Ebs?.VolumeId : [],
      ),
    );
    return [
      ...instances
        .filter(({ State }) => State?.Name !== "terminated")
        .map(({ InstanceId, Tags }) => made(InstanceId, Tags)),
      ...Vpcs.map(({ VpcId, Tags }) => made(VpcId, Tags)),
      ...Subnets.map(({ SubnetId, Tags }) => made(SubnetId, Tags)),
      ...InternetGateways.map(({ InternetGatewayId, Tags }) => made(InternetGatewayId, Tags)),
      ...Addresses.map(({ AllocationId, Tags }) => made(AllocationId, Tags)),
      ...NatGateways.filter(({ State }) => State !== "deleted").map(({ NatGatewayId, Tags }) =>
        made(NatGatewayId, Tags),
      ),
      // A VPC brings a table and a group of its own.
      ...RouteTables.filter(({ Associations = [] }) => !Associations.some(({ Main }) => Main)).map(
        ({ RouteTableId, Tags }) => made(RouteTableId, Tags),
      ),
      ...SecurityGroups.filter(({ GroupName }) => GroupName !== "default").map(
        ({ GroupId, Tags }) => made(GroupId, Tags),
      ),
      ...SecurityGroupRules.filter(
        ({ IsEgress, Tags = [] }) => IsEgress !== true && Tags.length > 0,
      ).map(({ SecurityGroupRuleId, Tags }) => made(SecurityGroupRuleId, Tags)),
      ...Volumes.filter(({ VolumeId }) => !roots.includes(VolumeId)).map(({ VolumeId, Tags }) =>
        made(VolumeId, Tags),
      ),
      ...(await this.balancing()),
    ];
  }

  private async balancing(): Promise<Made[]> {
    const { LoadBalancers = [] } = await this.elb.describeLoadBalancers({});
    const { TargetGroups = [] } = await this.elb.describeTargetGroups({});
    const arns = [
      ...LoadBalancers.map(({ LoadBalancerArn = "" }) => LoadBalancerArn),
      ...TargetGroups.map(({ TargetGroupArn = "" }) => TargetGroupArn),
    ];
    for (const { LoadBalancerArn } of LoadBalancers) {
      const { Listeners = [] } = await this.elb.describeListeners({ LoadBalancerArn });
      arns.push(...Listeners.map(({ ListenerArn = "" }) => ListenerArn));
    }
    if (arns.length === 0) return [];
    const { TagDescriptions = [] } = await this.elb.describeTags({ ResourceArns: arns });
    const targets: Made[] = [];
    for (const { ResourceArn = "", Tags = [] } of TagDescriptions) {
      targets.push(...(await this.targets(ResourceArn, Tags)));
    }
    return [
      ...TagDescriptions.map(({ ResourceArn, Tags = [] }) => made(ResourceArn, Tags)),
      ...targets,
    ];
  }

  /** What is registered with a target group: the tags of the group have its marks, "i-1:6443 uid-1 default/demo cp-0-api". */
  private async targets(TargetGroupArn: string, tags: readonly TagLike[]): Promise<Made[]> {
    const marked = tags.flatMap(({ Key = "", Value = "" }) => {
      const [, token] = Key.split("capstan:target/");
      const [place = "", clusterUid = "", cluster = "", name = ""] = Value.split(" ");
      if (token === undefined) return [];
      const marks = { cluster, clusterUid, kind: "AwsTarget", name, token };
      return [{ place, made: { id: `${TargetGroupArn}|${place}`, marks } }];
    });
    if (marked.length === 0) return [];
    const health = await this.elb.describeTargetHealth({ TargetGroupArn });
    const places = (health.TargetHealthDescriptions ?? []).map(
      ({ Target }) => `${Target?.Id ?? ""}:${Target?.Port ?? ""}`,
    );
    return marked.filter(({ place }) => places.includes(place)).map((one) => one.made);
  }
}

interface TagLike {
  readonly Key?: string | undefined;
  readonly Value?: string | undefined;
}

const markNames = ["cluster", "clusterUid", "kind", "name", "token"] as const;

function made(id = "", tags: readonly TagLike[] = []): Made {
  const marks = tags.flatMap(({ Key = "", Value = "" }) => {
    const name = markNames.find((one) => Key === `capstan:${one}`);
    return name === undefined ? [] : [[name, Value] as const];
  });
  return { id, marks: Object.fromEntries(marks) };
}

function tagsOf(who: Identity): Tag[] {
  return markNames.map((mark) => ({ Key: `capstan:${mark}`, Value: who[mark] }));
}

function text(spec: JsonObject, field: string): string {
  const value = spec[field];
  if (typeof value !== "string") throw new Error(`a spec to be planted has no ${field}`);
  return value;
}

function texts(spec: JsonObject, field: string): string[] {
  const value = spec[field];
  return Array.isArray(value) ? value.map(String) : [];
}
