import assert from "node:assert/strict";
import { hostsInName, isHostOf } from "../../src/records/host-name.js";

describe("the hosts in a name", () => {
  const cases: Record<string, readonly string[]> = {
    "web-7ca2dcf0-1": [],
    "web-7ca2dcf0-1-data": ["web-7ca2dcf0-1"],
    "web-af5f5222-0-a830c4ef-12-data": ["web-af5f5222-0-a830c4ef-12"],
    "db-0-a830c4ef-1-wal-20260101-1-a": ["db-0-a830c4ef-1", "db-0-a830c4ef-1-wal-20260101-1"],
    "db-20261127-41787873-1-data": ["db-20261127-41787873", "db-20261127-41787873-1"],
    network: [],
    "-7ca2dcf0-1-data": [],
  };
  for (const [name, hosts] of Object.entries(cases)) {
    it(`${name}: ${hosts.join(" or ") || "none"}`, () => {
      assert.deepEqual(hostsInName(name), hosts);
    });
  }
});

describe("a host of a machine", () => {
  const cases: Record<string, boolean> = {
    "web-7ca2dcf0-1": true,
    "web-7ca2dcf0-12": true,
    "web-7ca2dcf0-1-data": false,
    "web-2-7ca2dcf0-1": false,
    "web-7ca2dcf0": false,
    "db-7ca2dcf0-1": false,
  };
  for (const [host, want] of Object.entries(cases)) {
    it(`web ${want ? "has" : "has not"} ${host}`, () => {
      assert.equal(isHostOf("web", host), want);
    });
  }
});
