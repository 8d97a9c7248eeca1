import assert from "node:assert/strict";
import { hostname } from "node:os";
import {
  identify,
  type Liveness,
  livenessFrom,
  livenessOf,
  type ProcessIdentity,
  startTimeMs,
  type Surroundings,
} from "../../src/engine/locks/process-identity.js";
import { folderWriters } from "../../src/engine/locks/folder-writers.js";

const machine: Surroundings = { boot: "boot-1", pidNamespace: "pid:[1]", machine: "m-1" };
const container: Surroundings = { boot: "boot-1", pidNamespace: "pid:[2]" };
const process7 = { host: "ci", pid: 7, started: "100" };

describe("a process identity", () => {
  /** Pid 7 runs here, and began at 100. */
  const startedAt = (pid: number) => (pid === 7 ? "100" : undefined);
  const cases: {
    name: string;
    of: Surroundings;
    changed?: Partial<ProcessIdentity>;
    from: Surroundings;
    /** Others than this machine may have written it. */
    isShared?: true;
    want: Liveness;
  }[] = [
    { name: "that runs here", of: machine, from: machine, want: "alive" },
    {
      name: "that runs here, renamed since",
      of: machine,
      changed: { host: "new" },
      from: machine,
      want: "alive",
    },
    {
      name: "whose pid another one has",
      of: machine,
      changed: { started: "99" },
      from: machine,
      want: "dead",
    },
    { name: "whose pid nobody has", of: machine, changed: { pid: 8 }, from: machine, want: "dead" },
    {
      name: "of a container, seen from its machine",
      of: container,
      from: machine,
      want: "unknown",
    },
    {
      name: "of the machine, seen from a container",
      of: machine,
      from: container,
      want: "unknown",
    },
    {
      name: "of the same container",
      of: container,
      changed: { started: "99" },
      from: container,
      want: "dead",
    },
    {
      name: "from before a restart of this machine",
      of: { ...machine, boot: "boot-0" },
      from: machine,
      want: "dead",
    },
    {
      name: "of another start, and of this machine or of a copy of it, on a shared backend",
      of: { ...machine, boot: "boot-0" },
      from: machine,
      isShared: true,
      want: "unknown",
    },
    {
      name: "of the same start, on a shared backend",
      of: machine,
      changed: { started: "99" },
      from: machine,
      isShared: true,
      want: "dead",
    },
    {
      name: "of another machine of the same name",
      of: { ...machine, boot: "boot-2", machine: "m-2" },
      from: machine,
      want: "unknown",
    },
    {
      name: "of a container of another kernel, with the same name and number of its namespace",
      of: { ...container, boot: "boot-2" },
      from: container,
      want: "unknown",
    },
    {
      name: "of a container, seen from the machine of another kernel",
      of: { ...container, boot: "boot-2" },
      from: machine,
      want: "unknown",
    },
    {
      name: "of a kernel that does not tell its start",
      of: { boot: "" },
      from: { boot: "" },
      want: "unknown",
    },
  ];
  for (const { name, of, changed, from, isShared, want } of cases) {
    it(`${name} is ${want}`, () => {
      const writers = isShared === true ? "others" : "thisMachine";
      const identity = { ...process7, ...of, ...changed };
      assert.equal(livenessFrom(from, identity, { writers, startedAt }), want);
    });
  }

  it("may be of any machine where no disk of this one keeps it", () => {
    assert.equal(folderWriters("/proc"), "others");
    assert.equal(folderWriters("/nowhere"), "others");
  });

  it("of a running process tells where and when it began", () => {
    const own = identify(process.pid);
    assert.ok(own !== undefined && own.boot !== "");
    assert.equal(own.host, hostname());
    assert.equal(livenessOf(own), "alive");
    assert.equal(livenessOf({ ...own, started: "1" }), "dead");
    const startedMs = Date.now() - process.uptime() * 1_000;
    assert.ok(Math.abs((startTimeMs(process.pid) ?? 0) - startedMs) < 3_000);
  });

  it("is none for a pid that no process has", () => {
    assert.equal(identify(2 ** 22 + 1), undefined);
  });
});
