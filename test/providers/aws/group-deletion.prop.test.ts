import assert from "node:assert/strict";
import type { EC2 } from "@aws-sdk/client-ec2";
import fc from "fast-check";
import { awsProvider } from "../../../providers/aws/provider.js";
import { expectDefined, isCapstanError } from "../../../src/api/error.js";
import type { CallContext, Identity, ResourceHandler } from "../../../src/provider/port.js";
import { assertAsyncLaw } from "../../support/laws.js";
import { SimCloud } from "./life/sim-cloud.js";
import { markTagsOf, someone } from "./stub-clients.js";

const names = ["controlplane", "node", "lb"] as const;

/** A rule that a user adds to a group, and that names a group. */
interface UsersRule {
  readonly of: (typeof names)[number];
  readonly naming: (typeof names)[number];
  readonly direction: "in" | "out";
}

const usersRule: fc.Arbitrary<UsersRule> = fc.record({
  of: fc.constantFrom(...names),
  naming: fc.constantFrom(...names),
  direction: fc.constantFrom<UsersRule["direction"]>("in", "out"),
});

/** A VPC with the groups of a cluster and a group of the user. */
class Groups {
  private constructor(
    readonly ec2: EC2,
    private readonly handler: ResourceHandler,
    private readonly context: CallContext,
    private readonly ids: ReadonlyMap<string, string>,
  ) {}

  static async make(): Promise<Groups> {
    const { ec2, clients, clock } = new SimCloud({ defaultVpc: false });
    const { signal } = new AbortController();
    const context = { clock, signal, assertEngineAlive: () => undefined };
    const handler = expectDefined(awsProvider(clients).handlers.get("AwsSecurityGroup"), "handler");
    const VpcId = (await ec2.createVpc({ CidrBlock: "10.0.0.0/16" })).Vpc?.VpcId ?? "";
    const ids = new Map<string, string>();
    for (const name of [...names, "users"]) {
      const Tags = name === "users" ? [{ Key: "team", Value: "blue" }] : markTagsOf(whoOf(name));
      const { GroupId = "" } = await ec2.createSecurityGroup({
        VpcId,
        GroupName: name,
        Description: "a group",
        TagSpecifications: [{ ResourceType: "security-group", Tags }],
      });
      ids.set(name, GroupId);
    }
    return new Groups(ec2, handler, context, ids);
  }

  idOf(name: string): string {
    return expectDefined(this.ids.get(name), name);
  }

  async add({ of, naming, direction }: { of: string; naming: string; direction: "in" | "out" }) {
    const pair = { GroupId: this.idOf(naming) };
    const permission = { IpProtocol: "tcp", FromPort: 5000, ToPort: 5000 };
    const wanted = {
      GroupId: this.idOf(of),
      IpPermissions: [{ ...permission, UserIdGroupPairs: [pair] }],
    };
    await (direction === "in"
      ? this.ec2.authorizeSecurityGroupIngress(wanted)
      : this.ec2.authorizeSecurityGroupEgress(wanted));
  }

  async remove(name: string): Promise<void> {
    const who = whoOf(name);
    const current = { id: this.idOf(name), who, phase: "ready" as const, spec: {}, status: {} };
    await this.handler.remove(this.context, current);
  }

  async left(): Promise<string[]> {
    const { SecurityGroups = [] } = await this.ec2.describeSecurityGroups({});
    return SecurityGroups.flatMap(({ GroupName = "" }) =>
      GroupName === "default" ? [] : GroupName,
    );
  }
}

function whoOf(name: string): Identity {
  return { ...someone("AwsSecurityGroup", name), token: name };
}

describe("the deletion of a cluster's own security groups", () => {
  it("law: rules that a user added between them, either way, block none, in any order", async () => {
    await assertAsyncLaw(
      fc.asyncProperty(
        fc.uniqueArray(usersRule, { maxLength: 8, selector: (one) => JSON.stringify(one) }),
        fc.shuffledSubarray([...names], { minLength: names.length }),
        async (rules, order) => {
          const groups = await Groups.make();
          for (const one of rules) await groups.add(one);
          for (const name of order) await groups.remove(name);
          assert.deepEqual(await groups.left(), ["users"]);
        },
      ),
      30,
    );
  });

  it("leaves a rule of a user's own group, and names that group", async () => {
    for (const direction of ["in", "out"] as const) {
      const groups = await Groups.make();
      await groups.add({ of: "users", naming: "node", direction });
      const error: unknown = await groups.remove("node").catch((cause: unknown) => cause);
      assert.ok(isCapstanError(error) && error.code === "IN_USE", String(error));
      assert.match(error.message, new RegExp(`rules of ${groups.idOf("users")} \\(users\\)`));
      assert.deepEqual((await groups.left()).sort(), [...names, "users"].sort());
    }
  });
});
