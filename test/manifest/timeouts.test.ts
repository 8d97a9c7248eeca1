import assert from "node:assert/strict";
import { diagnosticText } from "../../src/manifest/diagnostic.js";
import { timeoutWarnings } from "../../src/manifest/timeouts.js";
import { cluster, desiredOf, machineDeployment } from "../support/manifests.js";

const place = { file: "a.yaml", line: 3, column: 5 };

/** What is warned of a deployment when hosts are waited for ten minutes. */
function warningsFor(spec: object, isFile = true, timeout = 600): string[] {
  const web = machineDeployment("web", 2);
  const desired = desiredOf([cluster(), { ...web, spec: { ...Object(web["spec"]), ...spec } }]);
  return timeoutWarnings(desired, timeout, () => (isFile ? place : undefined)).map(diagnosticText);
}

describe("what a time-out leaves no room for", () => {
  it("is nothing by default", () => {
    assert.deepEqual(warningsFor({}), []);
    assert.deepEqual(warningsFor({ progressDeadlineSeconds: 0 }), []);
    assert.deepEqual(warningsFor({}, true, 60), [], "nobody wrote the default deadline");
  });

  it("is a deadline beyond it, which can never run out", () => {
    assert.deepEqual(warningsFor({ progressDeadlineSeconds: 1200 }), [
      "a.yaml:3:5: warning: MachineDeployment default/web: spec.progressDeadlineSeconds: has no effect beyond 600 s, which is what --timeout gives a host\n  hint: give --timeout 1200, or lower it",
    ]);
  });

  it("is a machine that has to be ready for longer", () => {
    const [warning] = warningsFor({ minReadySeconds: 600, progressDeadlineSeconds: 0 }, false);
    assert.equal(
      warning,
      "MachineDeployment default/web: warning: MachineDeployment default/web: spec.minReadySeconds: no new machine can ever count: it is given up after 600 s, which is what --timeout gives a host\n  hint: lower it, or give --timeout more than 600 s and the time that a host takes to come up",
    );
  });
});
