import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type CapstanError, isCapstanError } from "../../../../src/api/error.js";
import { UnfinishedResource } from "../../../../src/dynamic/protocol.js";
import { providerCalls } from "../../../../stacks/aws-foundation/actions.js";
import { repository } from "../../../scenario/sandbox.js";
import { listOf, statementsIn } from "../../../stacks/iam.js";
import { AwsLife } from "./life.js";
import { accessKey, SimCloud } from "./sim-cloud.js";

/** Deletions that are refused once, since something is in the way: then it is looked up what that is. */
const blocked = ["DeleteSubnet", "DeleteVpc", "DeleteSecurityGroup", "DetachInternetGateway"];

const principal = "arn:aws:iam::123456789012:user/life";

function refusalIn(error: unknown): CapstanError {
  const reason = error instanceof UnfinishedResource ? error.reason : error;
  assert.ok(isCapstanError(reason), String(error));
  assert.equal(reason.code, "PERMISSION", reason.message);
  return reason;
}

/**
 * Lives a life whose rights are none in the beginning: what is refused has to say which action is missing and which
 * statement adds it, that right is given, and the step is taken again. Answers the rights that were missed, in their order.
 */
async function rightsMissed(): Promise<string[]> {
  const cloud = new SimCloud();
  const granted: string[] = ["sts:GetCallerIdentity"];
  const allow = () => {
    const key = { principal, account: "123456789012", allow: [...granted] };
    cloud.aws.change({ accessKeys: { [accessKey]: key } });
  };
  allow();
  for (const action of blocked) {
    cloud.aws.faults.add({ action, effect: { kind: "refuse", code: "DependencyViolation" } });
  }
  for (const { phase, about, run } of new AwsLife(cloud, {
    machine: { instanceProfile: "nodes" },
    worker: { spot: {} },
  }).steps()) {
    for (;;) {
      try {
        await run();
        break;
      } catch (error) {
        const { message, hint = "" } = refusalIn(error);
        const what = `${phase} of ${about}: ${message} (${hint})`;
        const [, action = ""] = /may not call (\S+) on /.exec(message) ?? [];
        assert.ok(action !== "" && !granted.includes(action), what);
        const statement = `\\{"Effect":"Allow","Action":"${action}","Resource":"[^"]+"\\}$`;
        assert.match(hint, new RegExp(statement), what);
        granted.push(action);
        allow();
      }
    }
  }
  return granted.slice(1);
}

/** Rights of a policy that nobody misses, and those that are missed and not in it. */
function problemsOf(policy: readonly string[], missed: readonly string[]): string[] {
  return [
    ...policy.filter((one) => !missed.includes(one)),
    ...missed.filter((one) => !policy.includes(one)),
  ];
}

/** The actions of the policy in a guide. */
function actionsIn(guide: string): string[] {
  const [, json = ""] = /```json\n([^`]+)```/.exec(readFileSync(guide, "utf8")) ?? [];
  return statementsIn(json).flatMap(({ Action }) => listOf(Action));
}

describe("each right of whoever runs capstan on AWS", () => {
  const policies = [
    {
      name: "the foundation",
      // Roles are passed by a statement of its own (stacks/aws-foundation/policy.ts).
      policy: [
        ...providerCalls.flatMap(({ service, call, needs = [] }) =>
          [call, ...needs].map((one) => `${service}:${one}`),
        ),
        "iam:PassRole",
      ],
    },
    { name: "docs/aws.md", policy: actionsIn(join(repository, "docs", "aws.md")) },
  ];
  let missed: readonly string[];
  before(async () => {
    missed = await rightsMissed();
  });

  for (const { name, policy } of policies) {
    it(`is missed where ${name} does not give it, by an error that names it and the statement to add`, () => {
      assert.deepEqual(problemsOf(policy, missed), []);
    });

    it(`turns this red where it is taken from the policy of ${name}`, () => {
      for (const action of missed) {
        const without = policy.filter((one) => one !== action);
        assert.deepEqual(problemsOf(without, missed), [action]);
      }
    });
  }
});
