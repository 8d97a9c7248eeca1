import assert from "node:assert/strict";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type BackendObjects, backendObjects } from "../../src/engine/backend/backend-objects.js";
import { parseBackendUrl } from "../../src/engine/backend/backend-url.js";
import { BoundedObjects } from "../../src/engine/backend/bounded-objects.js";
import { FolderObjects } from "../../src/engine/backend/folder-objects.js";
import { PostgresObjects } from "../../src/engine/backend/postgres-objects.js";
import { postgresSettings } from "../../src/engine/backend/postgres-settings.js";
import { fileKey, s3Key, unescapedKey } from "../../src/engine/backend/object-keys.js";
import { failsWith } from "../support/errors.js";
import { freePorts } from "../support/free-ports.js";
import { scratchFolder } from "../support/scratch.js";

describe("the objects of a backend", () => {
  const unread = [
    "",
    "gs://bucket",
    "azblob://container",
    "https://api.pulumi.com",
    "file://~/state",
    "file://relative",
    "file:///a%zz",
    "file:///state?key=one",
    "s3://",
    "s3://bucket?role=arn:aws:iam::123456789012:role/state",
    "s3://bucket?s3ForcePathStyle=yes",
    "postgres://one,two/db",
    "postgres://db/x?service=state",
    "postgres://db:123456/x",
    "postgres://db/x?sslmode=no-verify",
    "postgres://db/x?table=a%3B+DROP+TABLE+b",
  ];
  for (const url of unread) {
    it(`are left to Pulumi: ${url}`, () => assert.equal(backendObjects(url, {}), undefined));
  }
});

describe("the objects of a file backend", () => {
  const scratch = scratchFolder();

  const open = (query = "?metadata=skip"): BackendObjects => {
    const objects = backendObjects(`${pathToFileURL(scratch.path).href}${query}`, {});
    assert.ok(objects !== undefined);
    return objects;
  };

  const folder = ".pulumi/locks/organization/capstan/default.demo";

  it("are files under its root, listed by name without what lies beside them", async () => {
    const objects = open();
    await objects.write(`${folder}/b.json`, "two");
    await objects.write(`${folder}/a.json`, "one");
    await objects.write(`${folder}/deeper/c.json`, "three");
    writeFileSync(join(scratch.path, folder, "a.json.attrs"), "{}");
    writeFileSync(join(scratch.path, folder, "z.json.17f.tmp"), "");
    const names = ["a.json", "b.json", "z.json.17f.tmp"];
    const keys = names.map((name) => `${folder}/${name}`);
    assert.deepEqual(await objects.list(folder), keys);
    assert.deepEqual(await objects.list(`${folder}/`), keys);
    assert.equal(await objects.read(`${folder}/b.json`), "two");
    assert.equal(readFileSync(join(scratch.path, folder, "b.json"), "utf8"), "two");
    await objects.close();
  });

  it("that are not there are none", async () => {
    const objects = open();
    await objects.write("a/b", "text");
    for (const key of ["nowhere", "nowhere/at/all", "a", "a/b/c"]) {
      assert.equal(await objects.read(key), undefined, key);
      await objects.remove(`${key}/x`);
    }
    for (const one of ["nowhere", "a/b"]) assert.deepEqual(await objects.list(one), []);
  });

  it("go with what Pulumi keeps beside them", async () => {
    const objects = open();
    await objects.write("a/b.json", "text");
    writeFileSync(join(scratch.path, "a", "b.json.attrs"), "{}");
    await objects.remove("a/b.json");
    assert.deepEqual(readdirSync(join(scratch.path, "a")), []);
    await objects.remove("a/b.json");
  });

  it("are replaced as a whole, for this user alone", async () => {
    const objects = open();
    await objects.write(".capstan/engines/one.json", "first");
    await objects.write(".capstan/engines/one.json", "second");
    assert.equal(await objects.read(".capstan/engines/one.json"), "second");
    const path = join(scratch.path, ".capstan", "engines");
    assert.deepEqual(readdirSync(path), ["one.json"]);
    assert.equal(statSync(path).mode & 0o777, 0o700);
    assert.equal(statSync(join(scratch.path, ".capstan")).mode & 0o777, 0o700);
    assert.equal(statSync(join(path, "one.json")).mode & 0o777, 0o600);
  });

  it("leave nothing behind that could not be put in its place", async () => {
    const objects = open();
    mkdirSync(join(scratch.path, "a", "b"), { recursive: true });
    await assert.rejects(objects.write("a/b", "text"), failsWith("BAD_STATE", /cannot write a\/b/));
    assert.deepEqual(readdirSync(join(scratch.path, "a")), ["b"]);
  });

  it("are not written where the root is missing, as of a disk that is not mounted", async () => {
    const root = join(scratch.path, "state");
    const objects = backendObjects(pathToFileURL(root).href, {});
    await assert.rejects(async () => objects?.write("a", "text"), failsWith("BAD_STATE", /ENOENT/));
    assert.ok(!existsSync(root));
    assert.deepEqual(await objects?.list("a"), []);
  });

  it("that this user may not read are told so", async function () {
    const file = join(scratch.path, "a");
    writeFileSync(file, "text");
    chmodSync(file, 0o000);
    // Nothing is closed to root.
    if (process.getuid?.() === 0) return assert.equal(await open().read("a"), "text");
    await assert.rejects(open().read("a"), failsWith("NOT_WRITABLE", /cannot use .*\/a/));
  });

  it("have the URL's prefix before their names", async () => {
    await open("?prefix=team-").write("a/b", "text");
    assert.ok(existsSync(join(scratch.path, "team-a", "b")));
    assert.deepEqual(await open("?prefix=team-").list("a"), ["a/b"]);
  });

  it("have names that a folder can take", async () => {
    const objects = open();
    await objects.write("a/__0x2f__\n", "text");
    assert.deepEqual(readdirSync(join(scratch.path, "a")), ["__0x5f___0x2f____0xa__"]);
    assert.deepEqual(await objects.list("a"), ["a/__0x2f__\n"]);
  });
});

describe("a key as go-cloud writes it down", () => {
  const cases: readonly { key: string; file: string; s3?: string }[] = [
    {
      key: ".pulumi/stacks/capstan/default.demo.json",
      file: ".pulumi/stacks/capstan/default.demo.json",
    },
    { key: "a/../b", file: "a/..__0x2f__b" },
    { key: "a//b/", file: "a/__0x2f__b__0x2f__", s3: "a//b/" },
    { key: "tab\tand é 🐢", file: "tab__0x9__and é 🐢" },
    { key: "__0x2f__", file: "__0x5f___0x2f__" },
    { key: "__0x__ _0x2f_", file: "__0x__ _0x2f_" },
  ];
  for (const { key, file, s3 = file } of cases) {
    it(`comes back: ${JSON.stringify(key)}`, () => {
      assert.deepEqual([fileKey(key), s3Key(key)], [file, s3]);
      assert.deepEqual([unescapedKey(file), unescapedKey(s3)], [key, key]);
    });
  }
});

describe("a backend that does not answer", () => {
  const closed = async (): Promise<string> => `127.0.0.1:${(await freePorts(1))[0]}`;
  const urls: readonly { name: string; url: (address: string) => string }[] = [
    { name: "PostgreSQL", url: (address) => `postgres://owner:geheim@${address}/db` },
    { name: "S3", url: (at) => `s3://bucket?endpoint=${at}&disableSSL=true&s3ForcePathStyle=true` },
  ];
  for (const { name, url } of urls) {
    it(`is named without its password: ${name}`, async () => {
      const address = await closed();
      const env = {
        AWS_ACCESS_KEY_ID: "key",
        AWS_SECRET_ACCESS_KEY: "geheim",
        AWS_REGION: "eu-north-1",
      };
      const objects = backendObjects(url(address), env);
      assert.ok(objects !== undefined);
      const refused = failsWith("BAD_STATE", /cannot list \.pulumi in the backend .*ECONNREFUSED/);
      await assert.rejects(objects.list(".pulumi"), (error) => {
        assert.ok(!`${(error as Error).stack}`.includes("geheim"));
        assert.ok((error as { retryable?: boolean }).retryable);
        return refused(error);
      });
      await objects.close();
    });
  }

  it("may be back soon where PostgreSQL has not said no", () => {
    const settings = postgresSettings(
      parseBackendUrl("postgres://owner:geheim@127.0.0.1:1/db")!,
      {},
    );
    assert.ok(settings !== undefined);
    const objects = new PostgresObjects(settings, 10);
    const told = (code: string) => Object.assign(new Error("told"), { severity: "FATAL", code });
    assert.ok(objects.mayPass(new Error("Connection terminated unexpectedly")));
    assert.ok(objects.mayPass(told("57P01")), "it is shut down");
    assert.ok(objects.mayPass(told("53300")), "it has too many connections");
    assert.ok(!objects.mayPass(told("42501")), "it does not let this user");
    assert.ok(!objects.mayPass(told("28P01")), "the password is wrong");
  });

  it("is waited for no longer than it may take", async () => {
    const store = {
      advice: "wait",
      list: () => new Promise<string[]>(() => {}),
      read: (_: string, signal: AbortSignal) =>
        new Promise<undefined>((_answer, reject) =>
          signal.addEventListener("abort", () => reject(new Error("aborted"))),
        ),
      write: async () => {},
      remove: async () => {},
      permits: new FolderObjects("/nowhere").permits,
      close: async () => {},
    };
    const place = { name: "nowhere", url: "", prefix: "" };
    const objects = new BoundedObjects(store, { ...place, limitMs: 20 });
    await assert.rejects(objects.list("a"), failsWith("BAD_STATE", /no answer within 0.02 s/));
    await assert.rejects(objects.read("a"), failsWith("BAD_STATE", /no answer within 0.02 s/));
    await objects.write("a", "text");
  });
});

describe("the objects of a bucket", () => {
  it("come in pages", async () => {
    const pages = new Map([
      [null, "<IsTruncated>true</IsTruncated><NextContinuationToken>t/+</NextContinuationToken>"],
      ["t/+", "<IsTruncated>false</IsTruncated>"],
    ]);
    const asked: string[] = [];
    const server = createServer((request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? "", "http://s3");
      const token = searchParams.get("continuation-token");
      asked.push(`${pathname} ${searchParams.get("prefix") ?? ""} ${token ?? "first"}`);
      const keys = ["b", "a", ""].map((name) => `team/a/${name}${name && (token ?? "")}`);
      const contents = keys.map((key) => `<Contents><Key>${key}</Key></Contents>`);
      response.end(
        `<ListBucketResult>${pages.get(token) ?? ""}${contents.join("")}</ListBucketResult>`,
      );
    });
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    const { port } = server.address() as AddressInfo;
    const url = `s3://bucket/team?endpoint=127.0.0.1:${port}&disableSSL=1&use_path_style=1&region=r`;
    const env = { AWS_ACCESS_KEY_ID: "key", AWS_SECRET_ACCESS_KEY: "secret" };
    const objects = backendObjects(url, env);
    assert.deepEqual(await objects?.list("a"), ["a/a", "a/at/+", "a/b", "a/bt/+"]);
    assert.deepEqual(asked, ["/bucket/ team/a/ first", "/bucket/ team/a/ t/+"]);
    await objects?.close();
    server.closeAllConnections();
    server.close();
  });
});
