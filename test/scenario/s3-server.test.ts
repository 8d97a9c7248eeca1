import assert from "node:assert/strict";
import { S3Server } from "./s3-server.js";
import { until } from "./until.js";

describe("the S3 server of scenarios", () => {
  let server: S3Server;

  beforeEach(async () => {
    server = await S3Server.start();
  });
  afterEach(() => server.close());

  /** A bucket, and how a plain client reaches its keys. */
  const open = () => {
    const backend = server.makeBackend();
    const { hostname, searchParams } = new URL(backend.url);
    const base = `http://${searchParams.get("endpoint") ?? ""}/${hostname}`;
    const ask = (method: string, key: string, init: RequestInit = {}) =>
      fetch(`${base}/${key}`, { method, ...init });
    return { backend, bucket: backend.bucket, ask };
  };

  it("stores, tells, copies and deletes", async () => {
    const { ask, bucket } = open();
    assert.equal((await ask("PUT", "a/b.json", { body: "one" })).status, 200);
    const headers = { "x-amz-copy-source": "bucket-1/a/b.json" };
    assert.equal((await ask("PUT", "a/c.json", { headers })).status, 200);
    assert.equal(await (await ask("GET", "a/c.json")).text(), "one");
    assert.equal((await ask("DELETE", "a/b.json")).status, 204);
    assert.equal((await ask("HEAD", "a/b.json")).status, 404);
    assert.deepEqual(
      bucket.log.map(({ what, name }) => `${what} ${name}`),
      ["put a/b.json", "copy a/c.json", "delete a/b.json"],
    );
  });

  it("lists by prefix and folder", async () => {
    const { ask } = open();
    for (const key of ["a/1.json", "a/b/2.json", "c.json"]) await ask("PUT", key, { body: "x" });
    const xml = await (await ask("GET", "?list-type=2&prefix=a/&delimiter=/")).text();
    assert.match(xml, /<Contents><Key>a\/1.json<\/Key>/);
    assert.match(xml, /<CommonPrefixes><Prefix>a\/b\/<\/Prefix>/);
    assert.doesNotMatch(xml, /c\.json|2\.json/);
  });

  it("undoes the encoding that clients send in chunks", async () => {
    const { ask } = open();
    const headers = { "x-amz-content-sha256": "STREAMING-UNSIGNED-PAYLOAD-TRAILER" };
    const body = "3\r\none\r\n4\r\ntwo!\r\n0\r\nx-amz-checksum-crc32:AAAAAA==\r\n\r\n";
    await ask("PUT", "a.json", { headers, body });
    assert.equal(await (await ask("GET", "a.json")).text(), "onetwo!");
  });

  it("holds the n-th write before it takes effect", async () => {
    const { ask, bucket } = open();
    const hold = bucket.hold({ side: "before", what: "put", name: "a.json", nth: 2 });
    await ask("PUT", "a.json", { body: "one" });
    assert.equal(hold.isReached, false);
    const held = ask("PUT", "a.json", { body: "two" });
    await until("the write is held", () => hold.isReached);
    assert.equal(await (await ask("GET", "a.json")).text(), "one");
    hold.release("drop");
    assert.equal((await held).status, 200);
    assert.equal(await (await ask("GET", "a.json")).text(), "two");
  });

  it("holds the answer of a write that took effect", async () => {
    const { ask, bucket } = open();
    const hold = bucket.hold({ side: "after", what: "put", name: "a.json", nth: 1 });
    const held = ask("PUT", "a.json", { body: "one" });
    await until("the answer is held", () => hold.isReached);
    assert.equal(await (await ask("GET", "a.json")).text(), "one");
    hold.release("drop");
    await held;
  });

  for (const dead of ["drop", "evenSo"] as const) {
    it(`knows that nobody waits for a write any more: ${dead}`, async () => {
      const { ask, bucket } = open();
      const hold = bucket.hold({ side: "before", what: "put", name: "a.json", nth: 1 });
      const abort = new AbortController();
      const held = ask("PUT", "a.json", { body: "late", signal: abort.signal });
      held.catch(() => {});
      await until("the write is held", () => hold.isReached);
      abort.abort();
      await assert.rejects(held);
      await until("the server sees the end", () => !hold.isWaitedFor);
      hold.release(dead);
      const { status } = await ask("GET", "a.json");
      assert.equal(status, dead === "drop" ? 404 : 200);
    });
  }

  it("copies a bucket with what it holds", async () => {
    const { ask, backend } = open();
    await ask("PUT", "a.json", { body: "one" });
    const copy = backend.copy();
    await ask("PUT", "a.json", { body: "two" });
    assert.equal(copy.bucket.objects.get("a.json")?.body.toString(), "one");
  });
});
