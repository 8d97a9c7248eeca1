import assert from "node:assert/strict";
import type { ParamTree } from "../../../../providers/sim/aws/protocol/params.js";
import type { SettingsChange } from "../../../../providers/sim/aws/model/settings.js";
import { SimulatedAws } from "../../../../providers/sim/aws/simulated-aws.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { at, parseXml, type XmlTree } from "../xml-tree.js";

type Parameters = Readonly<Record<string, ParamTree>>;

/** A call that was carried out, with its answer. */
export interface Answered {
  readonly service: string;
  readonly action: string;
  readonly body: string;
}

/** A refusal of the simulator. */
class Refusal extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly status: number,
  ) {
    super(message);
  }
}

export const region = "eu-north-1";
export const accessKey = "AKIDTEST";
/** The service that has classic load balancers. */
export const classicElb = "elasticloadbalancing 2012-06-01";

/** A simulated AWS that is called without HTTP. Its clock stands still but for `advance`. */
export class SimAccount {
  readonly aws: SimulatedAws;
  /** Everything that was answered without an error. */
  readonly answered: Answered[] = [];

  constructor(settings: SettingsChange = {}, stateFile?: string) {
    const clock = new FakeClock(Date.parse("2026-11-23T08:00:00Z"), "manual");
    const file = stateFile === undefined ? {} : { stateFile };
    this.aws = new SimulatedAws({ clock, settings, ...file });
  }

  /** Throws a Refusal, or "cut" where there is no answer. */
  async call(
    service: string,
    action: string,
    parameters: Parameters = {},
    key = accessKey,
  ): Promise<XmlTree> {
    const call = { service, action, parameters, accessKey: key, region };
    const answer = await this.aws.call(call);
    if (answer === undefined) throw new Refusal("cut", "there is no answer", 0);
    const { status, body } = answer;
    const tree = body.startsWith("{") ? (JSON.parse(body) as XmlTree) : parseXml(body);
    if (status === 200) {
      this.answered.push({ service, action, body });
      return body.startsWith("{") ? tree : resultOf(tree, action);
    }
    const code =
      at(tree, "Response.Errors.Error.Code") ||
      at(tree, "ErrorResponse.Error.Code") ||
      at(tree, "__type");
    const message =
      at(tree, "Response.Errors.Error.Message") ||
      at(tree, "ErrorResponse.Error.Message") ||
      at(tree, "message");
    throw new Refusal(String(code), String(message), status);
  }

  ec2(action: string, parameters: Parameters = {}): Promise<XmlTree> {
    return this.call("ec2", action, parameters);
  }

  elb(action: string, parameters: Parameters = {}): Promise<XmlTree> {
    return this.call("elasticloadbalancing", action, parameters);
  }

  /** A call of the API that has classic load balancers. */
  classicElb(action: string, parameters: Parameters = {}): Promise<XmlTree> {
    return this.call(classicElb, action, parameters);
  }

  /** The text at a path of an answer of EC2. */
  async text(action: string, parameters: Parameters, path: string): Promise<string> {
    return String(at(await this.ec2(action, parameters), path));
  }

  /** The code that a call is refused with; "" where it is not. */
  async code(
    service: string,
    action: string,
    parameters: Parameters = {},
    key = accessKey,
  ): Promise<string> {
    try {
      await this.call(service, action, parameters, key);
      return "";
    } catch (error) {
      assert.ok(error instanceof Refusal, String(error));
      return error.code;
    }
  }

  /** The ids of what a region holds in a table. */
  ids(table: string): string[] {
    const snapshot = this.aws.accounts.region(this.aws.settings.account, region).store.snapshot();
    return (snapshot[table] ?? []).map(({ id }) => id);
  }

  /** A VPC with a subnet, a group and an internet gateway: their ids. */
  async network() {
    const vpcId = await this.text("CreateVpc", { CidrBlock: "10.0.0.0/16" }, "vpc.vpcId");
    const subnetId = await this.text(
      "CreateSubnet",
      { VpcId: vpcId, CidrBlock: "10.0.1.0/24", AvailabilityZone: `${region}a` },
      "subnet.subnetId",
    );
    const groupId = await this.text(
      "CreateSecurityGroup",
      { VpcId: vpcId, GroupName: "nodes", GroupDescription: "nodes" },
      "groupId",
    );
    const gatewayId = await this.text(
      "CreateInternetGateway",
      {},
      "internetGateway.internetGatewayId",
    );
    await this.ec2("AttachInternetGateway", { VpcId: vpcId, InternetGatewayId: gatewayId });
    return { vpcId, subnetId, groupId, gatewayId };
  }

  /** The newest image of Ubuntu for x86_64. */
  async image(): Promise<string> {
    const filters = [{ Name: "name", Value: ["*noble*amd64*"] }];
    return this.text("DescribeImages", { Filter: filters }, "imagesSet.1.imageId");
  }

  /** A running instance in a subnet: its id. */
  async instance(subnetId: string, groupId: string, more: Parameters = {}): Promise<string> {
    const id = await this.text(
      "RunInstances",
      await this.launch(subnetId, groupId, more),
      "instancesSet.0.instanceId",
    );
    this.advance(60_000);
    return id;
  }

  async launch(subnetId: string, groupId: string, more: Parameters = {}): Promise<Parameters> {
    return {
      ImageId: await this.image(),
      InstanceType: "t3.medium",
      MinCount: "1",
      MaxCount: "1",
      SubnetId: subnetId,
      SecurityGroupId: [groupId],
      ...more,
    };
  }

  async stateOf(instanceId: string): Promise<string> {
    const asked = { InstanceId: [instanceId] };
    return this.text(
      "DescribeInstances",
      asked,
      "reservationSet.0.instancesSet.0.instanceState.name",
    );
  }

  advance(ms: number): void {
    this.aws.advance(ms);
  }
}

/** What is in the envelope of an answer. */
function resultOf(tree: XmlTree, action: string): XmlTree {
  const response = at(tree, `${action}Response`);
  const result = at(response, `${action}Result`);
  return result === "" ? response : result;
}
