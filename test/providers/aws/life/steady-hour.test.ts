import assert from "node:assert/strict";
import { steadyHour, type SteadyHour } from "./steady-hour.js";

/** What AWS tells of one resource at a time, and how often of a cluster of one host. */
const perCluster: Readonly<Record<string, number>> = {
  "ec2:DescribeVpcAttribute": 2,
  "elasticloadbalancing:DescribeLoadBalancerAttributes": 1,
  "elasticloadbalancing:DescribeListeners": 1,
  "elasticloadbalancing:DescribeTargetGroupAttributes": 1,
  "elasticloadbalancing:DescribeTargetHealth": 1,
};

// docs/aws.md, "How many calls it takes", has these figures and those of a hundred clusters (bench/aws-calls.mjs).
describe("an hour of the watch loop over clusters on AWS", function () {
  this.timeout(400_000);
  let one: SteadyHour;
  let ten: SteadyHour;
  before(async () => {
    // Every look is like the other: few of them tell as much.
    one = await steadyHour(1, 300_000);
    ten = await steadyHour(10, 300_000);
  });

  it("tells of nothing while nothing has changed, changes nothing, and is never throttled", () => {
    for (const { told, hour, look, creation } of [one, ten]) {
      assert.deepEqual(told, []);
      assert.deepEqual([hour.changing, hour.refused, look.refused, creation.refused], [0, 0, 0, 0]);
    }
  });

  it("takes so many calls a look, as docs/aws.md tells", () => {
    assert.deepEqual([one.look.calls, ten.look.calls], [26, 80]);
  });

  it("is made of looks, of one listing each whatever the number of clusters, and of nothing else", () => {
    const looks = [one, ten].map(({ hour }) => hour.looks);
    assert.deepEqual(looks, [11, 11]);
    for (const { hour, look } of [one, ten]) assert.equal(hour.calls, hour.looks * look.calls);
  });

  it("asks by cluster only for what AWS tells one by one: one listing serves all for the rest", () => {
    for (const { look, clusters } of [one, ten]) {
      for (const [action, calls] of Object.entries(look.byAction)) {
        const { [action]: each } = perCluster;
        const wanted = each === undefined ? one.look.byAction[action] : each * clusters;
        // Tags of load balancers, target groups and listeners are told of twenty at a time.
        const pages = action.endsWith(":DescribeTags") ? 3 : wanted;
        assert.ok(calls === wanted || calls === pages, `${action}: ${calls}, not ${wanted}`);
      }
    }
  });
});
