import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { clusterUidOf, makerOf, ownerMarkOf } from "../../src/records/cluster-uid.js";
import { fileOwner } from "../../src/records/hand-over.js";

const anywhere = () => assert.fail("an API server is the same owner wherever its stacks are");

describe("the UID of a cluster", () => {
  const server = ownerMarkOf("7e0c-server", anywhere);

  it("names its maker, and is a UUID of its own all the same", () => {
    const uids = Array.from({ length: 100 }, () => clusterUidOf(randomUUID(), server));
    assert.equal(new Set(uids).size, uids.length);
    for (const uid of uids) {
      assert.match(uid, /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      assert.equal(makerOf(uid), server);
    }
  });

  it("keeps what is random of the UUID that it is made from", () => {
    assert.equal(
      clusterUidOf("01234567-89ab-4cde-a123-456789abcdef", server),
      `01234567-89ab-8cde-a123-${server}`,
    );
    assert.throws(() => clusterUidOf("uid-1", server), /no UUID/);
  });

  it("of an early release tells nothing of its maker", () => {
    for (const uid of [randomUUID(), "uid-1", ""]) assert.equal(makerOf(uid), undefined);
  });

  it("has one mark for all that an owner makes, and another one for each other owner", () => {
    const marks = [
      server,
      ownerMarkOf("another-server", anywhere),
      ownerMarkOf(fileOwner, () => "one state"),
      ownerMarkOf(fileOwner, () => "another state"),
    ];
    assert.equal(new Set(marks).size, marks.length);
    assert.equal(
      ownerMarkOf("7e0c-server", () => "elsewhere"),
      server,
    );
    assert.ok(!marks.some((mark) => !/^[0-9a-f]{12}$/.test(mark)));
  });
});
