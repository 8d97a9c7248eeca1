import assert from "node:assert/strict";
import { refuseNonOwner } from "../../src/engine/backend/state.js";
import { FakeEngine } from "../support/fake-engine.js";
import { cluster, desiredOf } from "../support/manifests.js";

const server = "https://10.0.0.1:6443";

/** What somebody is told who does not own the cluster. */
async function refusalFor(owner: string, asking: string, verb: string) {
  const engine = new FakeEngine();
  await engine.up(desiredOf([cluster()]));
  const { transaction } = engine.prior;
  if (transaction === undefined) throw new Error("nothing is recorded");
  try {
    refuseNonOwner({ transaction: { ...transaction, owner } }, asking, verb);
  } catch (error) {
    const { message, hint } = error as { message: string; hint: string };
    return { message, hint };
  }
  return undefined;
}

describe("somebody who does not own a cluster", () => {
  it("and only plans is told where it is planned, and how to get it", async () => {
    const refusal = await refusalFor(server, "files", "plan");
    assert.deepEqual(refusal, {
      message: `cannot plan default/prod: it belongs to the API server ${server}, and this is manifests in files`,
      hint: "kubectl changes its objects there, and capstan watch plans and applies what they say; capstan describe default.prod shows how it is, and capstan move default.prod --to files hands it over; nothing was changed",
    });
  });

  it("and is an API server is told of the files", async () => {
    const refusal = await refusalFor("files", server, "change");
    assert.equal(
      refusal?.hint,
      "capstan plan and up work on its manifests, and capstan move default.prod --to kubernetes hands it over; nothing was changed",
    );
  });

  it("is not somebody who does", async () => {
    assert.equal(await refusalFor("files", "files", "plan"), undefined);
  });
});
