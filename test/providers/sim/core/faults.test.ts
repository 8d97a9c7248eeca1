import assert from "node:assert/strict";
import { FaultPlan } from "../../../../providers/sim/core/fault-plan.js";
import type { FaultOrder, FaultyRequest } from "../../../../providers/sim/core/faults.js";

const effect = { kind: "cut", when: "after" } as const;
const request = (action: string, more: Partial<FaultyRequest> = {}): FaultyRequest => ({
  action,
  isMutating: !action.includes("Describe"),
  accessKey: "A",
  parameters: {},
  ...more,
});

describe("the faults of a simulated cloud", () => {
  /** Which of the requests meet the fault. */
  const met = (order: Omit<FaultOrder, "effect">, requests: readonly FaultyRequest[]) => {
    const plan = new FaultPlan();
    plan.add({ ...order, effect });
    return requests.map((one) => plan.meet(one).length);
  };
  const run = request("ec2:RunInstances");
  const look = request("ec2:DescribeVpcs");

  it("meet one call unless they say how many, and are used up then", () => {
    assert.deepEqual(met({ action: "RunInstances" }, [look, run, run]), [0, 1, 0]);
    assert.deepEqual(
      met({ action: "ec2:Describe*", times: 2 }, [look, run, look, look]),
      [1, 0, 1, 0],
    );
  });

  it("meet the n-th call that changes something", () => {
    const create = request("ec2:CreateVpc");
    assert.deepEqual(
      met({ action: "mutating", skip: 2 }, [create, look, run, create, run]),
      [0, 0, 0, 1, 0],
    );
  });

  it("meet the calls of one access key, and with certain parameters", () => {
    const other = request("ec2:RunInstances", { accessKey: "B" });
    assert.deepEqual(met({ action: "*", accessKey: "B" }, [run, other]), [0, 1]);
    const large = request("ec2:RunInstances", { parameters: { InstanceType: "c7i.large" } });
    assert.deepEqual(met({ action: "*", where: { InstanceType: "c7*" } }, [run, large]), [0, 1]);
  });

  it("add up, in the order in which they were set", () => {
    const plan = new FaultPlan();
    plan.add({ action: "*", effect: { kind: "delay", ms: 5 } });
    plan.add({ action: "*", effect });
    assert.deepEqual(plan.meet(run), [{ kind: "delay", ms: 5 }, effect]);
    assert.deepEqual(plan.list(), []);
  });

  it("are listed with what they have seen, and cleared", () => {
    const plan = new FaultPlan();
    const id = plan.add({ action: "*", effect, skip: 5 });
    plan.meet(run);
    assert.deepEqual(plan.list(), [{ id, seen: 1, action: "*", effect, skip: 5 }]);
    plan.clear();
    assert.deepEqual(plan.list(), []);
  });
});
