import assert from "node:assert/strict";
import { readyAtMsOf } from "../../src/workload/node-heartbeat.js";

const at = new Date("2026-05-04T10:11:12Z");

describe("the last word of a kubelet", () => {
  const cases = [
    { name: "that it is ready, to the end of its second", status: "True", want: 999 },
    { name: "that it is not ready", status: "False", want: undefined },
    { name: "that nobody has heard for a while", status: "Unknown", want: undefined },
  ];
  for (const { name, status, want } of cases) {
    it(name, () => {
      const beat = { type: "Ready", status, lastHeartbeatTime: at };
      const other = { type: "DiskPressure", status: "True", lastHeartbeatTime: new Date(0) };
      const ms = readyAtMsOf({ status: { conditions: [other, beat] } });
      assert.equal(ms, want === undefined ? undefined : at.getTime() + want);
    });
  }

  it("is none of a Node that says nothing, or not when", () => {
    assert.equal(readyAtMsOf({}), undefined);
    assert.equal(
      readyAtMsOf({ status: { conditions: [{ type: "Ready", status: "True" }] } }),
      undefined,
    );
  });
});
