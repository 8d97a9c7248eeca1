import assert from "node:assert/strict";
import type { CapstanError } from "../../src/api/error.js";
import { replacedOnceFound } from "../../src/engine/run/failures.js";
import { ReadinessDeadline } from "../../src/engine/run/readiness-deadline.js";
import type { NodeKey } from "../../src/graph/graph.js";
import { failsWith } from "../support/errors.js";
import { cluster, machine, machineDeployment } from "../support/manifests.js";
import { targetOf } from "../support/recorded-history.js";

function patienceWith(progressDeadlineSeconds: number, deadlineAtMs = 1_000_000) {
  const deployment = machineDeployment("web", 2) as { spec: object };
  const target = targetOf([
    cluster(),
    machine("db"),
    { ...deployment, spec: { ...deployment.spec, progressDeadlineSeconds } },
  ]);
  const [db, ...web] = target.machines.map(({ host }) => host);
  assert.ok(db !== undefined && web[0] !== undefined && web[1] !== undefined);
  const readinessDeadline = new ReadinessDeadline(target, {
    timeoutMs: 60_000,
    sinceMs: 0,
    deadlineAtMs,
  });
  return { readinessDeadline, db, web: [web[0], web[1]] as const };
}

describe("how long hosts are waited for", () => {
  it("is a deployment's progress deadline", () => {
    const { readinessDeadline, web } = patienceWith(10);
    readinessDeadline.check(web, 10_000);
    assert.throws(
      () => readinessDeadline.check(web, 10_001),
      failsWith("DEADLINE", /^MachineDeployment web has made no progress for 10 s: /),
    );
  });

  it("begins anew when one of its hosts comes up", () => {
    const { readinessDeadline, web } = patienceWith(10);
    readinessDeadline.progressed(web[0], 9_000);
    readinessDeadline.check([web[1]], 19_000);
    assert.throws(
      () => readinessDeadline.check([web[1]], 19_001),
      failsWith("DEADLINE", /no progress/),
    );
  });

  it("is the command's time-out for all others, and where the progress deadline is 0", () => {
    const { readinessDeadline, db, web } = patienceWith(0);
    readinessDeadline.check([db, ...web], 60_000);
    assert.throws(
      () => readinessDeadline.check([db, ...web], 60_001),
      failsWith("DEADLINE", /^not ready after 60 s: /),
    );
  });

  it("tells those that are ready, and only have to stay so, from those that boot", () => {
    const { readinessDeadline, db, web } = patienceWith(0);
    assert.throws(
      () => readinessDeadline.check([db, web[0]], 60_001, new Map([[web[0], "it has no Node"]])),
      (error: Error) => error.message === `not ready after 60 s: ${db}, ${web[0]} (it has no Node)`,
    );
  });

  it("tells what to do about those that run, and says nothing of the kind of those that boot", () => {
    const { readinessDeadline, db, web } = patienceWith(0);
    const hintOf = (why: ReadonlyMap<NodeKey, string>) => {
      try {
        readinessDeadline.check([db, web[0]], 60_001, why);
      } catch (error) {
        return (error as CapstanError).hint;
      }
      return undefined;
    };
    const longer = "capstan status shows what they do; --timeout gives them longer";
    assert.equal(hintOf(new Map()), longer);
    assert.equal(
      hintOf(new Map([[web[0], "its Node is not ready"]])),
      `${longer}; one that never will be ready ${replacedOnceFound}`,
    );
  });

  it("is never longer than what is left of the transaction's deadline", () => {
    const { readinessDeadline, db } = patienceWith(10, 5_000);
    readinessDeadline.check([db], 5_000);
    assert.throws(
      () => readinessDeadline.check([db], 5_001),
      failsWith("DEADLINE", /^not ready by the transaction's deadline: /),
    );
  });
});
