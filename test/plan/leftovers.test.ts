import assert from "node:assert/strict";
import { type LeftoverPolicy, reportLeftovers } from "../../src/api/leftover-policy.js";
import {
  leftoverAdvice,
  leftoverDocument,
  leftoverLine,
  leftoversThatStay,
  leftoversToRemove,
  leftoverWaves,
  planLeftovers,
} from "../../src/plan/leftovers.js";
import type { Leftover } from "../../src/provider/leftovers.js";

const by = "aws-load-balancer-controller";
const balancer: Leftover = {
  kind: "load balancer",
  id: "arn:lb",
  name: "web",
  by,
  about: "Service shop/web",
  blocks: "vpc-1",
  wave: 1,
};
const targets: Leftover = { kind: "target group", id: "arn:tg", by, wave: 2 };
const group: Leftover = { kind: "security group", id: "sg-1", by, blocks: "vpc-1", wave: 3 };
const volume: Leftover = {
  kind: "volume",
  id: "vol-1",
  by: "aws-ebs-csi-driver",
  about: "PersistentVolumeClaim shop/data",
  holdsData: true,
  wave: 4,
};
const doubted: Leftover = { ...group, id: "sg-2", doubt: "instance i-9 bears the same name" };
const all = [volume, doubted, group, targets, balancer];

const policy = (
  leftovers: LeftoverPolicy["leftovers"],
  data: LeftoverPolicy["data"],
): LeftoverPolicy => ({ leftovers, data });

describe("what a destroy does with what controllers have made", () => {
  const rows = [
    { name: "nothing goes that nobody asked for", given: reportLeftovers, gone: [] },
    {
      name: "data stays with the rest gone",
      given: policy("remove", "keep"),
      gone: [balancer, targets, group],
    },
    { name: "data goes by a choice of its own", given: policy("report", "remove"), gone: [volume] },
    {
      name: "everything of ours goes",
      given: policy("remove", "remove"),
      gone: [balancer, targets, group, volume],
    },
  ];
  for (const { name, given, gone } of rows) {
    it(name, () => {
      const planned = planLeftovers(all, given);
      assert.deepEqual(leftoversToRemove(planned), gone);
      assert.equal(leftoversThatStay(planned).length, all.length - gone.length);
    });
  }

  it("what may be somebody else's never goes, and the reason is told", () => {
    const [planned] = planLeftovers([doubted], policy("remove", "remove"));
    assert.equal(planned?.does, "report");
    assert.match(planned?.reason ?? "", /^it stays: instance i-9/);
  });

  it("goes in waves: load balancers, what they used, groups, volumes", () => {
    const removed = leftoversToRemove(planLeftovers(all, policy("remove", "remove")));
    assert.deepEqual(leftoverWaves(removed), [[balancer], [targets], [group], [volume]]);
    const together = { ...targets, id: "eni-1" };
    assert.deepEqual(leftoverWaves([together, balancer, targets]), [
      [balancer],
      [together, targets],
    ]);
  });

  it("each line says what it is, who made it for whom, and why it stays", () => {
    assert.deepEqual(planLeftovers(all, reportLeftovers).map(leftoverLine), [
      `load balancer web (arn:lb): made by ${by} for Service shop/web; it stays, and vpc-1 cannot go before it`,
      `target group arn:tg: made by ${by}; it stays`,
      `security group sg-2: made by ${by}; it stays: instance i-9 bears the same name`,
      `security group sg-1: made by ${by}; it stays, and vpc-1 cannot go before it`,
      "volume vol-1: made by aws-ebs-csi-driver for PersistentVolumeClaim shop/data; it holds data and stays",
    ]);
    const [removed] = planLeftovers([balancer], policy("remove", "keep"));
    assert.equal(
      removed && leftoverLine(removed),
      `load balancer web (arn:lb): made by ${by} for Service shop/web`,
    );
  });

  it("tells what can be done about what stands in the way, and about nothing else", () => {
    const advice = (found: Leftover[], given = reportLeftovers) =>
      leftoverAdvice(
        leftoversThatStay(planLeftovers(found, given)),
        "capstan destroy default.demo",
      );
    assert.deepEqual(advice([balancer, group, volume]), [
      "2 resources would stand in the way: delete Service shop/web while the cluster runs, or add --leftovers remove to capstan destroy default.demo",
      "What holds data goes only with --leftover-data remove",
    ]);
    assert.deepEqual(advice([targets, doubted]), []);
    assert.deepEqual(advice([balancer], policy("remove", "keep")), []);
  });

  it("programs are told the same", () => {
    const [first] = planLeftovers([balancer], policy("remove", "keep"));
    const { wave: _wave, ...told } = balancer;
    assert.deepEqual(first && leftoverDocument(first), { does: "remove", reason: "", ...told });
  });
});
