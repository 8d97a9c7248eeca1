import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { downloadChromium, ensureChromium, findChromium } from "#chromium";
import { scratchFolder } from "../support/scratch.js";

const fails = (why: string) => () => Promise.reject(new Error(why));

function writeProgram(path: string): string {
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(path, "#!/bin/sh\nexit 0\n");
  chmodSync(path, 0o755);
  return path;
}

/** A ZIP archive of one executable file, not compressed. Source: PKWARE APPNOTE 4.3. */
function zipOf(name: string, content: string): Buffer {
  const [path, body] = [Buffer.from(name), Buffer.from(content)];
  const common = Buffer.alloc(26);
  common.writeUInt16LE(10, 0);
  common.writeUInt32LE(crc32(body), 10);
  common.writeUInt32LE(body.length, 14);
  common.writeUInt32LE(body.length, 18);
  common.writeUInt16LE(path.length, 22);
  const local = Buffer.concat([Buffer.from("PK\x03\x04"), common, path, body]);
  const central = Buffer.alloc(14);
  central.writeUInt32LE(0o100755 * 0x10000, 6);
  const entry = Buffer.concat([Buffer.from("PK\x01\x02\x14\x03"), common, central, path]);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(1, 4);
  end.writeUInt16LE(1, 6);
  end.writeUInt32LE(entry.length, 8);
  end.writeUInt32LE(local.length, 12);
  return Buffer.concat([local, entry, Buffer.from("PK\x05\x06"), end]);
}

describe("the browser of the tests", () => {
  const scratch = scratchFolder();
  let env: NodeJS.ProcessEnv;
  beforeEach(() => {
    env = { CAPSTAN_CACHE: join(scratch.path, "cache"), PATH: join(scratch.path, "bin") };
  });

  it("is the one that is named, before any on PATH", () => {
    const onPath = writeProgram(join(scratch.path, "bin", "chromium"));
    assert.equal(findChromium(env), onPath);
    const named = writeProgram(join(scratch.path, "own", "browser"));
    assert.equal(findChromium({ ...env, CAPSTAN_CHROMIUM: named }), named);
  });

  it("is not another one when what is named is not there", () => {
    writeProgram(join(scratch.path, "bin", "chromium"));
    assert.throws(
      () => findChromium({ ...env, CAPSTAN_CHROMIUM: "/nowhere/chromium" }),
      /cannot use CAPSTAN_CHROMIUM \/nowhere\/chromium.*unset it/,
    );
  });

  it("is set up by the second way where the first one fails", async () => {
    const install = () => Promise.resolve(void writeProgram(join(scratch.path, "bin", "chromium")));
    const found = await ensureChromium({ env, download: fails("no network"), install });
    assert.equal(found, join(scratch.path, "bin", "chromium"));
  });

  it("is missing with every reason, and what to do", async () => {
    const ways = { download: fails("no network"), install: fails("not root") };
    await assert.rejects(
      ensureChromium({ env, ...ways }),
      /no download \(no network\), no Debian package \(not root\); install Chromium/,
    );
  });

  describe("from a release", () => {
    let server: Server;
    let digest: (archive: Buffer) => string | undefined;
    const md5 = (archive: Buffer) => createHash("md5").update(archive).digest("base64");

    beforeEach(async () => {
      digest = md5;
      server = createServer(({ url = "" }, response) => {
        const platform = /chrome-headless-shell-([\w-]+)\.zip$/.exec(url)?.[1] ?? "";
        const file = `chrome-headless-shell-${platform}/chrome-headless-shell`;
        const archive = zipOf(file, "#!/bin/sh\nexit 0\n");
        response.setHeader("x-goog-hash", `crc32c=AAAAAA==, md5=${digest(archive)}`);
        response.end(archive);
      });
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    });
    afterEach(() => server.close());

    const ensure = () => {
      const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      return ensureChromium({
        env,
        download: (request) => downloadChromium({ ...request, origin }),
        install: fails("not asked"),
      });
    };

    it("goes into the cache, and is found there", async () => {
      const program = await ensure();
      assert.ok(program.startsWith(join(scratch.path, "cache")) && existsSync(program));
      assert.equal(findChromium(env), program);
      assert.equal(readdirSync(join(scratch.path, "cache")).length, 1, "nothing else is left");
    });

    it("is refused when its digest is another", async () => {
      digest = (archive) => md5(Buffer.concat([archive, Buffer.from("x")]));
      await assert.rejects(ensure(), /digest of the archive is .*, 127\.0\.0\.1:\d+ says /);
      assert.equal(findChromium(env), undefined);
    });
  });
});
