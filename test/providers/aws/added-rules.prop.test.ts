import assert from "node:assert/strict";
import type { EC2, IpPermission } from "@aws-sdk/client-ec2";
import fc from "fast-check";
import { awsProvider } from "../../../providers/aws/provider.js";
import { expectDefined } from "../../../src/api/error.js";
import type { CallContext, Observed, ResourceHandler } from "../../../src/provider/port.js";
import { SimCloud } from "./life/sim-cloud.js";
import { markTagsOf, someone } from "./stub-clients.js";
import { assertAsyncLaw } from "../../support/laws.js";

/** Who adds a rule, and to which group. */
interface Addition {
  readonly by: keyof typeof makers;
  readonly into: "ours" | "anothers" | "nobodys";
}

/** What each writes on its rule, and which group it names if it names one. */
const makers = {
  person: { says: "for a while" },
  personForGroup: { says: undefined, source: "persons" },
  nlbClients: { says: "kubernetes.io/rule/nlb/client=a12" },
  nlbHealth: { says: "kubernetes.io/rule/nlb/health=a12" },
  targetGroupBinding: { says: "elbv2.k8s.aws/targetGroupBinding=shared" },
  classicBalancer: { says: undefined, source: "ccm" },
  sharedBackend: { says: undefined, source: "controller" },
  othersController: { says: undefined, source: "otherCluster" },
  capstan: { says: "node-tcp-22-from-anywhere", marks: "demo" },
  otherCapstan: { says: "node-tcp-22-from-anywhere", marks: "other" },
} as const;

/** Rules that a correction of the group takes away: nobody is known to need them. */
const goes: readonly Addition["by"][] = ["person", "personForGroup", "othersController"];

const addition: fc.Arbitrary<Addition> = fc.record({
  by: fc.constantFrom(...(Object.keys(makers) as Addition["by"][])),
  into: fc.constantFrom<Addition["into"]>("ours", "ours", "anothers", "nobodys"),
});

const tags = (values: Readonly<Record<string, string>>) =>
  Object.entries(values).map(([Key, Value]) => ({ Key, Value }));

/** A VPC with groups of two clusters, of controllers and of a person. */
class Groups {
  private constructor(
    readonly ec2: EC2,
    readonly handler: ResourceHandler,
    readonly context: CallContext,
    private readonly ids: Readonly<Record<string, string>>,
  ) {}

  static async make(): Promise<Groups> {
    const { ec2, clients, clock } = new SimCloud({ defaultVpc: false });
    const { signal } = new AbortController();
    const context = { clock, signal, assertEngineAlive: () => undefined };
    const handler = expectDefined(awsProvider(clients).handlers.get("AwsSecurityGroup"), "handler");
    const VpcId = (await ec2.createVpc({ CidrBlock: "10.0.0.0/16" })).Vpc?.VpcId ?? "";
    const ids: Record<string, string> = {};
    const named: Readonly<Record<string, Readonly<Record<string, string>>>> = {
      ours: marksOf("demo"),
      anothers: marksOf("other"),
      nobodys: { team: "blue" },
      persons: { team: "blue" },
      ccm: { "kubernetes.io/cluster/demo": "owned" },
      controller: { "elbv2.k8s.aws/cluster": "demo", "elbv2.k8s.aws/resource": "backend-sg" },
      otherCluster: { "elbv2.k8s.aws/cluster": "other" },
    };
    for (const [name, values] of Object.entries(named)) {
      const { GroupId = "" } = await ec2.createSecurityGroup({
        VpcId,
        GroupName: name === "ccm" ? "k8s-elb-a12" : name,
        Description: "Kubernetes nodes",
        TagSpecifications: [{ ResourceType: "security-group", Tags: tags(values) }],
      });
      ids[name] = GroupId;
    }
    return new Groups(ec2, handler, context, ids);
  }

  /** The rule's id. */
  async add({ by, into }: Addition, port: number): Promise<string> {
    const maker: { says: string | undefined; source?: string; marks?: string } = makers[by];
    const Description = maker.says;
    const permission: IpPermission = { IpProtocol: "tcp", FromPort: port, ToPort: port };
    const source =
      maker.source === undefined
        ? { IpRanges: [{ CidrIp: "0.0.0.0/0", Description }] }
        : { UserIdGroupPairs: [{ GroupId: this.ids[maker.source], Description }] };
    const { SecurityGroupRules = [] } = await this.ec2.authorizeSecurityGroupIngress({
      GroupId: this.ids[into],
      IpPermissions: [{ ...permission, ...source }],
      ...(maker.marks === undefined
        ? {}
        : {
            TagSpecifications: [
              { ResourceType: "security-group-rule", Tags: tags(marksOf(maker.marks)) },
            ],
          }),
    });
    return SecurityGroupRules[0]?.SecurityGroupRuleId ?? "";
  }

  /** Ours, as a look shows it. */
  async look(): Promise<Observed> {
    const found = await this.handler.find?.(this.context, this.ids["ours"] ?? "");
    return found as Observed;
  }

  /** As a correction of drift does it: back to what was recorded, which has no added rules. */
  async correct(shown: Observed): Promise<void> {
    const { addedRules: _, ...recorded } = shown.spec;
    await this.handler.update?.(this.context, shown, recorded);
  }

  /** All that there is but ids of rules that are taken away: what else a correction changes would show. */
  async everything(without: readonly string[] = []): Promise<unknown> {
    const { SecurityGroupRules = [] } = await this.ec2.describeSecurityGroupRules({});
    return SecurityGroupRules.filter(
      ({ SecurityGroupRuleId = "" }) => !without.includes(SecurityGroupRuleId),
    );
  }
}

function marksOf(cluster: string): Readonly<Record<string, string>> {
  const who = {
    ...someone("AwsSecurityGroup", "node"),
    cluster: `default/${cluster}`,
    clusterUid: `uid of ${cluster}`,
  };
  return Object.fromEntries(markTagsOf(who).map(({ Key, Value }) => [Key, Value]));
}

describe("rules that are added to a security group of ours", () => {
  it("law: what nobody is known to need is shown and taken away, and nothing else is changed", async () => {
    await assertAsyncLaw(
      fc.asyncProperty(
        fc.array(addition, { maxLength: 8 }),
        fc.array(addition, { maxLength: 3 }),
        async (additions, later) => {
          const groups = await Groups.make();
          const added: string[] = [];
          for (const [at, one] of additions.entries()) {
            const id = await groups.add(one, 1_000 + at);
            if (one.into === "ours" && goes.includes(one.by)) added.push(id);
          }
          const shown = await groups.look();
          const { addedRules = [] } = shown.spec as { addedRules?: { id: string }[] };
          assert.deepEqual(addedRules.map(({ id }) => id).sort(), [...added].sort());
          // What comes after the look was shown to nobody, and stays for the next one.
          for (const [at, one] of later.entries()) await groups.add(one, 2_000 + at);
          const before = await groups.everything(added);
          await groups.correct(shown);
          assert.deepEqual(await groups.everything(), before);
        },
      ),
      40,
    );
  });

  it("stay where they have got marks or a maker since they were shown", async () => {
    const groups = await Groups.make();
    const ids = [await groups.add({ by: "person", into: "ours" }, 22)];
    const shown = await groups.look();
    assert.deepEqual(shown.spec["addedRules"], [{ id: ids[0], letsIn: "tcp 22 from 0.0.0.0/0" }]);
    await groups.ec2.createTags({ Resources: ids, Tags: tags(marksOf("other")) });
    const before = await groups.everything();
    await groups.correct(shown);
    assert.deepEqual(await groups.everything(), before);
  });
});
