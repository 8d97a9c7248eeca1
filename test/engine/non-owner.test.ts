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

  it("is everybody while its objects come or go, and is told of the ways on", async () => {
    const engine = new FakeEngine();
    await engine.up(desiredOf([cluster()]));
    const { transaction, revision } = engine.prior;
    if (transaction === undefined || revision === undefined) throw new Error("nothing is recorded");
    const moving = (to: string, from: string) => ({
      ...transaction,
      number: transaction.number + 1,
      owner: to,
      goal: { kind: "move", to, from } as const,
    });
    for (const asking of ["files", server]) {
      for (const [to, from] of [
        ["files", server],
        [server, "files"],
      ] as const) {
        const onItsWay = { transaction: moving(to, from), revision };
        assert.throws(() => refuseNonOwner(onItsWay, asking, "destroy"), {
          code: "NOT_OWNER",
          message:
            /^cannot destroy default\/prod: it is on its way to .*nobody's until it is there$/,
          hint: new RegExp(
            `^capstan move default.prod --to ${to === "files" ? "files --out FOLDER" : "kubernetes"} goes on with that, and capstan move .* takes it back`,
          ),
        });
      }
    }
    const there = {
      transaction: { ...moving(server, "files"), number: revision.number },
      revision,
    };
    refuseNonOwner(there, server, "destroy");
  });
});
