import { awsApiVersion } from "../../../providers/aws/specs/cluster-spec.js";
import { capaApiVersion } from "../../../providers/aws/specs/v1alpha1.js";
import { expectDefined } from "../../../src/api/error.js";
import type { JsonObject } from "../../../src/api/json.js";
import { refTo } from "../../../src/graph/graph.js";
import { sampleKubelet } from "../../../src/provider-conformance/sample.js";
import type {
  ConformanceSubject,
  OlderSpecs,
  World,
} from "../../../src/provider-conformance/index.js";
import type { Moto } from "../../provider/ec2/moto.js";
import { AwsWorld, type Spares } from "./aws-world.js";

const zone = "eu-north-1a";
const ranges = { public: "10.0.224.0/22", private: "10.0.0.0/19" };

/** A cluster in one zone, with one way out, and a machine with a volume. */
export class AwsSubject implements ConformanceSubject {
  readonly clusterSpec = {
    apiVersion: awsApiVersion,
    kind: "AWSClusterProviderSpec",
    region: "eu-north-1",
    vpc: { cidr: "10.0.0.0/16" },
    subnets: [
      { cidr: ranges.public, zone, public: true },
      { cidr: ranges.private, zone },
    ],
    natGateways: "perZone",
    hostSecrets: "userData",
    tags: { team: "blue" },
  };
  readonly inPlace = { metadata: { httpTokens: "optional", hopLimit: 2 } };
  readonly choosing = {
    alternatives: [{ instanceType: "t3.large" }, { instanceType: "m5.large" }],
  };
  readonly inPlaceOf = {
    AwsVpc: { tags: { team: "red" } },
    AwsSubnet: { tags: { team: "red", stage: "test" } },
    AwsInternetGateway: { tags: { team: "red" } },
    AwsElasticIp: { tags: { team: "red" } },
    AwsNatGateway: { tags: { team: "red" } },
    AwsRouteTable: { routes: [], subnetIds: [], tags: { team: "red" } },
    AwsSecurityGroup: { tags: { team: "red" } },
    AwsLoadBalancer: { crossZone: false, tags: { team: "red" } },
    AwsTargetGroup: { deregistrationDelaySeconds: 60, tags: { team: "red" } },
    AwsListener: { tags: { team: "red" } },
    AwsVolume: { gib: 9 },
  };
  private images: readonly [string, string] | undefined;
  private spares: Spares | undefined;

  constructor(private readonly moto: Moto) {}

  get machineSpec(): JsonObject {
    const kind = "AWSMachineProviderSpec";
    const dataVolumes = [{ name: "data", device: "/dev/sdf", gib: 8 }];
    const image = { id: this.known[0] };
    return { apiVersion: awsApiVersion, kind, instanceType: "t3.medium", image, dataVolumes };
  }

  /** Volumes beside the root are new, and live with the host: its inputs are the same. */
  get olderSpecs(): readonly OlderSpecs[] {
    const clusterSpec = {
      apiVersion: capaApiVersion,
      kind: "AWSClusterProviderSpec",
      region: "eu-north-1",
      networkSpec: {
        vpc: { cidrBlock: "10.0.0.0/16", tags: { team: "blue" } },
        subnets: [
          { cidrBlock: ranges.public, availabilityZone: zone, isPublic: true },
          { cidrBlock: ranges.private, availabilityZone: zone, isPublic: false },
        ],
      },
    };
    const machineSpec = {
      apiVersion: capaApiVersion,
      kind: "AWSMachineProviderSpec",
      instanceType: "t3.medium",
      ami: { id: this.known[0] },
    };
    return [{ clusterSpec, machineSpec, host: this.host }];
  }

  private get host(): JsonObject {
    return {
      role: "worker",
      imageId: this.known[0],
      software: "image",
      instanceType: "t3.medium",
      zone,
      subnetId: refTo("AwsSubnet", `private-${zone}`),
      groupIds: [refTo("AwsSecurityGroup", "node"), refTo("AwsSecurityGroup", "lb")],
      rootVolume: { gib: 20, type: "gp3", encrypted: true },
      metadata: { httpTokens: "required", hopLimit: 1 },
      tenancy: "default",
      tags: { team: "blue" },
      kubelet: sampleKubelet,
    };
  }

  get replacing(): JsonObject {
    return { image: { id: this.known[1] } };
  }

  private get known(): readonly [string, string] {
    return expectDefined(this.images, "images before the first world");
  }

  /** What AWS has once: a range and a gateway of a VPC, an address of a gateway, a port of a load balancer. */
  beside(kind: string, spec: JsonObject, index: number): JsonObject {
    const { vpcIds = [], allocationIds = [] } = this.spares ?? {};
    switch (kind) {
      case "AwsSubnet":
        return { ...spec, cidr: `10.0.${index}.0/28` };
      case "AwsInternetGateway":
        return { ...spec, vpcId: vpcIds[index % vpcIds.length] ?? "" };
      case "AwsNatGateway":
        return { ...spec, allocationId: allocationIds[index % allocationIds.length] ?? "" };
      case "AwsRouteTable":
        return { ...spec, subnetIds: [] };
      case "AwsSecurityGroupRule":
        return { ...spec, fromPort: index, toPort: index };
      case "AwsListener":
        return { ...spec, port: index };
      case "AwsVolume":
        return { ...spec, device: `/dev/sd${"ghijklmnop".charAt(index % 10)}` };
      default:
        return spec;
    }
  }

  async open(): Promise<World> {
    const { images } = await this.moto.reset();
    this.images = images;
    const { world, spares } = await AwsWorld.open(this.moto);
    this.spares = spares;
    return world;
  }
}
