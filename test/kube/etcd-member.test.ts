import assert from "node:assert/strict";
import { memberOf } from "../../src/kube/etcd-member.js";

const member = (ID: string, address: string, name?: string) => ({
  ID,
  ...(name !== undefined && { name }),
  peerURLs: [`https://${address}:2380`],
});

describe("the member of etcd that a host was", () => {
  const none: ReadonlySet<string> = new Set();

  it("bears the name of its Node", () => {
    const members = [member("1", "10.0.0.4", "cp-0"), member("2", "10.0.0.5", "cp-1")];
    assert.equal(memberOf(members, { name: "cp-1", addresses: [], others: none })?.ID, "2");
  });

  it("has its address, if it never ran or its Node is gone", () => {
    const addresses = ["10.0.0.4", "fd00::4"];
    const node = { name: "cp-0", addresses, others: new Set(["ip-10-0-0-5"]) };
    assert.equal(memberOf([member("1", "10.0.0.4")], node)?.ID, "1");
    assert.equal(memberOf([member("1", "[fd00::4]", "ip-4")], node)?.ID, "1");
  });

  it("is not the one that has its address now", () => {
    const members = [
      member("1", "10.0.0.4", "ip-10-0-0-4"),
      member("2", "10.0.0.5", "ip-10-0-0-5"),
    ];
    const others = new Set(["ip-10-0-0-4", "ip-10-0-0-5"]);
    assert.equal(memberOf(members, { name: "cp-0", addresses: ["10.0.0.4"], others }), undefined);
  });
});
