import assert from "node:assert/strict";
import { hostname } from "node:os";
import {
  identify,
  type Liveness,
  livenessOf,
  type ProcessIdentity,
} from "../../src/engine/locks/process-identity.js";

describe("a process identity", () => {
  const own = identify(process.pid)!;
  const { pidNamespace: _none, ...older } = own;
  const elsewhere = "pid:[1]";
  const cases: { name: string; given: ProcessIdentity; want: Liveness }[] = [
    { name: "of this process", given: own, want: "alive" },
    { name: "of this process, by an older release", given: older, want: "alive" },
    {
      name: "of a process that began at another time",
      given: { ...own, started: "1" },
      want: "dead",
    },
    {
      name: "of one that an older release noted and that is gone",
      given: { ...older, started: "1" },
      want: "dead",
    },
    {
      name: "of a container with the same host name",
      given: { ...own, started: "1", pidNamespace: elsewhere },
      want: "unknown",
    },
    {
      name: "of a container from before a reboot",
      given: { ...own, boot: "another", pidNamespace: elsewhere },
      want: "dead",
    },
    { name: "of another machine", given: { ...own, host: "elsewhere.example" }, want: "unknown" },
  ];
  for (const { name, given, want } of cases) {
    it(`${name} is ${want}`, () => assert.equal(livenessOf(given), want));
  }

  it("is none for a pid that no process has", () => {
    assert.equal(identify(2 ** 22 + 1), undefined);
    assert.equal(own.host, hostname());
  });
});
