import assert from "node:assert/strict";
import type { AuditEvent } from "../../support/api-server.js";
import { judged } from "./budgeted-apps.js";

const drainer = "drainer";

function event(name: string, about: object, code = 201, username = drainer): AuditEvent {
  return {
    auditID: "",
    stage: "ResponseComplete",
    verb: "create",
    requestURI: "",
    requestReceivedTimestamp: "",
    user: { username, groups: [] },
    responseStatus: { code },
    ...about,
    objectRef: { resource: "pods", name, ...about },
  };
}

const ready = (name: string) => event(name, { subresource: "status", verb: "patch" }, 200, "admin");
const evicts = (name: string, code = 201) => event(name, { subresource: "eviction" }, code);
const three = ["store-1", "store-2", "store-3"].map(ready);

describe("the judge of drains", () => {
  it("has nothing to say of what a budget lets go", () => {
    const events = [...three, evicts("store-1"), evicts("store-2", 429), ready("store-4")];
    assert.deepEqual(judged([...events, evicts("store-2")], drainer), {
      evicted: 2,
      refused: 1,
      broken: [],
    });
  });

  it("counts no pod twice that is asked to go twice", () => {
    const events = [...three, evicts("store-1"), evicts("store-1")];
    assert.deepEqual(judged(events, drainer), { evicted: 1, refused: 0, broken: [] });
  });

  it("tells of one that goes beyond its budget", () => {
    const { broken } = judged([...three, evicts("store-1"), evicts("store-2")], drainer);
    assert.deepEqual(broken, ["store-2: 1 of 2 available"]);
  });

  it("tells of one that is deleted by the drain itself", () => {
    const deletion = event("store-1", { verb: "delete" }, 200);
    assert.deepEqual(judged([...three, deletion], drainer).broken, [
      "store-1 was deleted by drainer",
    ]);
  });
});
