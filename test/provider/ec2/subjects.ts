import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import type { EC2 } from "@aws-sdk/client-ec2";
import type { STS } from "@aws-sdk/client-sts";
import { loadProviders } from "../../../providers/outside.js";
import { expectDefined } from "../../../src/api/error.js";
import type { JsonObject } from "../../../src/api/json.js";
import {
  type ConformanceSubject,
  steppingClock,
  type World,
} from "../../../src/provider-conformance/index.js";
import type { InfrastructureProvider } from "../../../src/provider/port.js";
import type { Account, Moto } from "./moto.js";
import { Ec2World } from "./ec2-world.js";
import { freeRange, nodeRange } from "./ranges.js";
import { WatchedEc2 } from "./watched-ec2.js";

export const exampleFolder = fileURLToPath(
  new URL("../../../../examples/provider-ec2/", import.meta.url),
);

/** What one file of the example exports. */
type ProviderOf = (ec2: EC2, sts: STS) => InfrastructureProvider;

/** The example as the product loads it, so that its import of capstan/provider is found. */
export function loadExample(): { readonly hosts: ProviderOf; readonly network: ProviderOf } {
  loadProviders(
    { folder: exampleFolder, env: {} },
    { stateDir: exampleFolder, clock: steppingClock(), env: {} },
  );
  const require = createRequire(exampleFolder);
  const { ec2Provider } = require("./provider.js") as { ec2Provider: ProviderOf };
  const { networkProvider } = require("./network.js") as { networkProvider: ProviderOf };
  return { hosts: ec2Provider, network: networkProvider };
}

/** The sample and its other values in an account: ids are new with each world. */
interface Ec2Sample extends Pick<ConformanceSubject, "clusterSpec" | "machineSpec" | "replacing"> {
  readonly inPlace: JsonObject;
}

type SampleOf = (account: Account) => Ec2Sample;

const hostsApi = "ec2.example.dev/v1alpha1";
const networkApi = "network.ec2.example.dev/v1alpha1";
const machineKind = "Ec2MachineProviderSpec";
const clusterKind = "Ec2ClusterProviderSpec";

const hostsSample: SampleOf = ({ subnetId, securityGroupId, images: [imageId, newer] }) => ({
  clusterSpec: { apiVersion: hostsApi, kind: clusterKind },
  machineSpec: { apiVersion: hostsApi, kind: machineKind, imageId, subnetId, securityGroupId },
  replacing: { imageId: newer },
  inPlace: { instanceType: "t3.large" },
});

const networkSample: SampleOf = ({ vpcId, images: [imageId, newer] }) => ({
  clusterSpec: { apiVersion: networkApi, kind: clusterKind, vpcId, cidr: nodeRange },
  machineSpec: { apiVersion: networkApi, kind: machineKind, imageId },
  replacing: { imageId: newer },
  inPlace: { instanceType: "t3.large" },
});

/** The example without infrastructure on moto. */
export const hostsSubject = (moto: Moto): ConformanceSubject =>
  new Ec2Subject(moto, { provider: loadExample().hosts, sampleOf: hostsSample, isLarge: true });

/** The example with a subnet and a security group on moto. Its listings are made as those of the hosts alone. */
export const networkSubject = (moto: Moto): ConformanceSubject =>
  new Ec2Subject(moto, {
    provider: loadExample().network,
    sampleOf: networkSample,
    isLarge: false,
  });

class Ec2Subject implements ConformanceSubject {
  readonly inPlaceOf = { Ec2Group: { from: [nodeRange, "192.0.2.0/24"] } };
  private sample: Ec2Sample | undefined;

  constructor(
    private readonly moto: Moto,
    private readonly about: {
      readonly provider: ProviderOf;
      readonly sampleOf: SampleOf;
      readonly isLarge: boolean;
    },
  ) {}

  get clusterSpec(): JsonObject {
    return this.known.clusterSpec;
  }

  get machineSpec(): JsonObject {
    return this.known.machineSpec;
  }

  get replacing(): JsonObject {
    return this.known.replacing;
  }

  get inPlace(): JsonObject {
    return this.known.inPlace;
  }

  /** EC2 has a range once in a VPC. */
  beside(kind: string, spec: JsonObject, index: number): JsonObject {
    return kind === "Ec2Subnet" ? { ...spec, cidr: freeRange(index) } : spec;
  }

  async open(): Promise<World> {
    const account = await this.moto.reset();
    const { provider, sampleOf, isLarge } = this.about;
    this.sample = sampleOf(account);
    const clock = steppingClock(Date.now());
    const { sts } = this.moto.connect();
    const ec2 = new WatchedEc2(this.moto, clock);
    return new Ec2World(this.moto, ec2, provider(ec2.client, sts), { clock, isLarge });
  }

  private get known(): Ec2Sample {
    return expectDefined(this.sample, "sample before the first world");
  }
}
