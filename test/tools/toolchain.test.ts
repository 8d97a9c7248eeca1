import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { homedir, tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import {
  cacheRoot,
  downloadPulumi,
  ensurePulumi,
  findPulumi,
  pulumiVersion,
  type Install,
  type ToolchainError,
} from "#toolchain";

const targetName = `pulumi-${pulumiVersion}-${process.platform}-${process.arch}`;
const companions = ["pulumi-language-nodejs", "pulumi-resource-pulumi-nodejs"];

/** Writes a program that prints `output` whatever it is asked. */
function writeProgram(path: string, output = ""): void {
  writeFileSync(path, `#!/bin/sh\necho '${output}'\n`);
  chmodSync(path, 0o755);
}

/** Makes a folder with a pulumi that prints `version`, complete unless `files` leaves some out. */
function writePulumi(folder: string, version = `v${pulumiVersion}`, files = companions): string {
  mkdirSync(folder, { recursive: true });
  writeProgram(join(folder, "pulumi"), version);
  for (const file of files) writeProgram(join(folder, file));
  return folder;
}

function isToolchainError(error: unknown): error is ToolchainError {
  return error instanceof Error && "code" in error && error.code === "TOOLCHAIN";
}

describe("pulumi toolchain", () => {
  let scratch: string;
  let cache: string;
  let empty: string;
  let env: NodeJS.ProcessEnv;

  beforeEach(() => {
    scratch = mkdtempSync(join(tmpdir(), "capstan-toolchain-"));
    cache = join(scratch, "cache");
    empty = join(scratch, "empty");
    mkdirSync(empty);
    env = { CAPSTAN_CACHE: cache, PATH: empty };
  });

  afterEach(() => {
    rmSync(scratch, { recursive: true, force: true });
  });

  const writeCache = (): string => writePulumi(join(cache, targetName, "bin"));
  const leftovers = (): string[] => readdirSync(cache).filter((name) => name.includes(".tmp-"));

  describe("cacheRoot", () => {
    const platformDefault = {
      darwin: "/home/user/Library/Caches/capstan",
      win32: "/home/user/AppData/Local/capstan",
    };
    const fallback =
      platformDefault[process.platform as keyof typeof platformDefault] ??
      "/home/user/.cache/capstan";
    const cases: { name: string; given: NodeJS.ProcessEnv; want: string }[] = [
      {
        name: "CAPSTAN_CACHE comes first",
        given: { CAPSTAN_CACHE: "/own", XDG_CACHE_HOME: "/xdg", HOME: "/home/user" },
        want: "/own",
      },
      {
        name: "XDG_CACHE_HOME comes next",
        given: { XDG_CACHE_HOME: "/xdg", HOME: "/home/user" },
        want: "/xdg/capstan",
      },
      {
        name: "a relative XDG_CACHE_HOME is ignored",
        given: { XDG_CACHE_HOME: "xdg", HOME: "/home/user" },
        want: fallback,
      },
      { name: "then the platform's folder", given: { HOME: "/home/user" }, want: fallback },
    ];
    for (const { name, given, want } of cases) {
      it(name, () => {
        assert.equal(cacheRoot(given), want);
      });
    }

    it("is the home folder of the account without HOME", () => {
      assert.ok(cacheRoot({}).startsWith(homedir()));
    });
  });

  describe("findPulumi", () => {
    it("finds nothing where there is nothing", () => {
      assert.equal(findPulumi(env), undefined);
    });

    it("takes CAPSTAN_PULUMI before PATH before the cache", () => {
      const named = writePulumi(join(scratch, "named"));
      const onPath = writePulumi(join(scratch, "on-path"));
      const cached = writeCache();
      const full = { ...env, CAPSTAN_PULUMI: named, PATH: onPath };

      assert.deepEqual(findPulumi(full), {
        bin: join(named, "pulumi"),
        binDir: named,
        origin: "CAPSTAN_PULUMI",
      });
      assert.deepEqual(findPulumi({ ...full, CAPSTAN_PULUMI: "" }), {
        bin: join(onPath, "pulumi"),
        binDir: onPath,
        origin: "PATH",
      });
      assert.deepEqual(findPulumi(env), {
        bin: join(cached, "pulumi"),
        binDir: cached,
        origin: "cache",
      });
    });

    it("takes CAPSTAN_PULUMI as program, as its folder and as the folder above", () => {
      const folder = writePulumi(join(scratch, "named", "bin"));
      for (const named of [join(folder, "pulumi"), folder, join(scratch, "named")]) {
        const found = findPulumi({ ...env, CAPSTAN_PULUMI: named });
        assert.equal(found?.bin, join(folder, "pulumi"));
      }
    });

    it("starts no process for the cache", () => {
      const bin = join(writeCache(), "pulumi");
      writeFileSync(bin, `#!/bin/sh\n: > '${join(scratch, "started")}'\n`);
      assert.equal(findPulumi(env)?.origin, "cache");
      assert.ok(!existsSync(join(scratch, "started")));
    });

    describe("asks a program for its version", () => {
      /** Of a size that only Pulumi itself has; notes each time that it is run. */
      const writeBig = (folder: string, version = "v3.259.0"): string => {
        writePulumi(folder, version);
        writeFileSync(
          join(folder, "pulumi"),
          `#!/bin/sh\necho run >> '${join(scratch, "runs")}'\necho '${version}'\nexit\n`,
        );
        truncateSync(join(folder, "pulumi"), 30_000_000);
        return folder;
      };
      const runs = () => readFileSync(join(scratch, "runs"), "utf8").trim().split("\n").length;

      it("once", () => {
        const PATH = writeBig(join(scratch, "on-path"));
        for (let time = 0; time < 3; time += 1) {
          assert.equal(findPulumi({ ...env, PATH })?.binDir, PATH);
        }
        assert.equal(runs(), 1);
      });

      it("again once it was replaced, with the same size and time too", () => {
        const PATH = writeBig(join(scratch, "on-path"));
        const bin = join(PATH, "pulumi");
        assert.equal(findPulumi({ ...env, PATH })?.origin, "PATH");
        const { atime, mtime } = statSync(bin);
        writeBig(PATH, "v3.100.0");
        utimesSync(bin, atime, mtime);
        assert.equal(findPulumi({ ...env, PATH }), undefined);
        assert.equal(runs(), 2);
      });

      it("each time, if it may be a shim", () => {
        const PATH = writeBig(join(scratch, "on-path"));
        truncateSync(join(PATH, "pulumi"), 1_000_000);
        findPulumi({ ...env, PATH });
        findPulumi({ ...env, PATH });
        assert.equal(runs(), 2);
      });

      it("each time, if nothing can be remembered", () => {
        const PATH = writeBig(join(scratch, "on-path"));
        writeFileSync(cache, "no folder");
        assert.equal(findPulumi({ ...env, PATH })?.origin, "PATH");
        assert.equal(findPulumi({ ...env, PATH })?.origin, "PATH");
        assert.equal(runs(), 2);
      });

      it("again, if what is remembered is damaged", () => {
        const PATH = writeBig(join(scratch, "on-path"));
        findPulumi({ ...env, PATH });
        writeFileSync(join(cache, "pulumi-versions.json"), '{"');
        assert.equal(findPulumi({ ...env, PATH })?.origin, "PATH");
        assert.equal(findPulumi({ ...env, PATH })?.origin, "PATH");
        assert.equal(runs(), 2);
      });
    });

    const versions = [
      { given: "v3.259.0", want: true },
      { given: "v3.259.7", want: true },
      { given: "v3.300.1-alpha.1", want: true },
      { given: "3.259.0", want: true },
      { given: "v3.258.9", want: false },
      { given: "v2.300.0", want: false },
      { given: "v4.0.0", want: false },
      { given: "v4.300.0", want: false },
      { given: "", want: false },
      { given: "Heroes of the past", want: false },
    ];
    for (const { given, want } of versions) {
      it(`${want ? "takes" : "passes over"} a pulumi on PATH that prints "${given}"`, () => {
        const PATH = writePulumi(join(scratch, "on-path"), given);
        assert.equal(findPulumi({ ...env, PATH })?.origin, want ? "PATH" : undefined);
      });
    }

    it("goes on to the next pulumi on PATH", () => {
      const old = writePulumi(join(scratch, "old"), "v3.100.0");
      const fitting = writePulumi(join(scratch, "fitting"));
      const PATH = [old, "", fitting].join(delimiter);
      assert.equal(findPulumi({ ...env, PATH })?.binDir, fitting);
    });

    it("wants both companions, beside pulumi or elsewhere on PATH", () => {
      const alone = writePulumi(join(scratch, "alone"), "v3.259.0", []);
      const half = writePulumi(join(scratch, "half"), "v3.259.0", companions.slice(0, 1));
      const elsewhere = join(scratch, "elsewhere");
      mkdirSync(elsewhere);
      for (const file of companions) writeProgram(join(elsewhere, file));

      assert.equal(findPulumi({ ...env, PATH: alone }), undefined);
      assert.equal(findPulumi({ ...env, PATH: half }), undefined);
      const PATH = [alone, elsewhere].join(delimiter);
      assert.equal(findPulumi({ ...env, PATH })?.binDir, alone);
    });

    it("looks beside the program that a link on PATH leads to", () => {
      const folder = writePulumi(join(scratch, "installation"));
      const links = join(scratch, "links");
      mkdirSync(links);
      symlinkSync(join(folder, "pulumi"), join(links, "pulumi"));
      assert.equal(findPulumi({ ...env, PATH: links })?.bin, join(links, "pulumi"));
    });

    const unusable: { name: string; make: () => string; want: RegExp }[] = [
      {
        name: "does not exist",
        make: () => join(scratch, "nowhere"),
        want: /no pulumi program/,
      },
      {
        name: "is a folder without pulumi",
        make: () => empty,
        want: /no pulumi program/,
      },
      {
        name: "is too old",
        make: () => writePulumi(join(scratch, "old"), "v3.100.0"),
        want: /3\.100\.0/,
      },
      {
        name: "lacks the language host",
        make: () => writePulumi(join(scratch, "half"), "v3.259.0", companions.slice(1)),
        want: /pulumi-language-nodejs not found/,
      },
      {
        name: "is no pulumi",
        make: () => writePulumi(join(scratch, "other"), "hello"),
        want: /does not print its version/,
      },
    ];
    for (const { name, make, want } of unusable) {
      it(`refuses a CAPSTAN_PULUMI that ${name}, in spite of a good cache`, async () => {
        writeCache();
        const named = make();
        const full = { ...env, CAPSTAN_PULUMI: named };
        const isExpected = (error: unknown): boolean =>
          isToolchainError(error) &&
          want.test(error.message) &&
          error.message.includes(named) &&
          error.hint !== "";
        assert.throws(() => findPulumi(full), isExpected);
        await assert.rejects(ensurePulumi({ env: full }), isExpected);
      });
    }
  });

  describe("ensurePulumi", () => {
    const refuse =
      (cause: string): Install =>
      () =>
        Promise.reject(new Error(cause));
    const install: Install = ({ folder }) => {
      writePulumi(join(folder, "bin"));
      return Promise.resolve();
    };

    it("uses what is there", async () => {
      writeCache();
      const found = await ensurePulumi({ env, download: refuse("no"), build: refuse("no") });
      assert.equal(found.origin, "cache");
    });

    it("downloads", async () => {
      const found = await ensurePulumi({ env, download: install, build: refuse("not needed") });
      assert.equal(found.bin, join(cache, targetName, "bin", "pulumi"));
      assert.deepEqual(findPulumi(env), found);
      assert.deepEqual(leftovers(), []);
    });

    it("takes no other file for the release, also with a list of checksums beside it that fits", async () => {
      const content = Buffer.from("another program");
      const sum = createHash("sha256").update(content).digest("hex");
      const asked: string[] = [];
      const server = createServer(({ url = "" }, response) => {
        asked.push(url);
        const name = url.split("/").at(-1) ?? "";
        response.end(/checksums|SHA256SUMS/.test(name) ? `${sum}  ${name}\n` : content);
      });
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      try {
        const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
        await assert.rejects(
          ensurePulumi({
            env,
            download: (request) => downloadPulumi(request, origin),
            build: refuse("not asked"),
          }),
          new RegExp(`no download \\(checksum of pulumi-v[^ ]+ is ${sum}, pinned is [0-9a-f]+\\)`),
        );
      } finally {
        server.close();
      }
      assert.equal(asked.length, 1, "nothing but the archive is asked for");
      assert.deepEqual(leftovers(), []);
      assert.equal(findPulumi(env), undefined);
    });

    it("builds where it cannot download, and says why", async () => {
      const lines: string[] = [];
      const found = await ensurePulumi({
        env,
        progress: (text) => lines.push(text),
        download: refuse("no network"),
        build: install,
      });
      assert.equal(found.origin, "cache");
      assert.deepEqual(lines, ["no download: no network"]);
    });

    it("with neither network nor Go says once what to install", async () => {
      await assert.rejects(ensurePulumi({ env, download: refuse("no network") }), (error) => {
        assert.ok(isToolchainError(error));
        assert.equal(
          error.message,
          `cannot set up pulumi ${pulumiVersion}: no download (no network), no build (no Go on PATH)`,
        );
        assert.match(error.hint, /get\.pulumi\.com.*Go 1\.25\.11 or newer.*CAPSTAN_PULUMI/);
        return true;
      });
      assert.deepEqual(leftovers(), []);
    });

    it("ends with its signal, and tries no other way then", async () => {
      const stop = new AbortController();
      const reason = new Error("interrupted");
      // What a terminal's Ctrl-C does to the programs that a set-up runs.
      const interrupted: Install = ({ signal }) => {
        stop.abort(reason);
        assert.equal(signal?.aborted, true);
        return Promise.reject(new Error("tar ended with 130"));
      };
      await assert.rejects(
        ensurePulumi({
          env,
          signal: stop.signal,
          download: interrupted,
          build: refuse("not tried"),
        }),
        (error) => error === reason,
      );
      await assert.rejects(
        ensurePulumi({ env, signal: stop.signal, download: install }),
        (error) => error === reason,
      );
      assert.deepEqual(leftovers(), []);
    });

    it("refuses a Go that is too old", async () => {
      writeProgram(join(empty, "go"), "go version go1.25.10 linux/amd64");
      await assert.rejects(
        ensurePulumi({ env, download: refuse("no network") }),
        /no build \(Go 1\.25\.10 is older than 1\.25\.11\)/,
      );
    });

    it("does not keep a pulumi of another version", async () => {
      const wrong: Install = ({ folder }) => {
        writePulumi(join(folder, "bin"), "v3.260.0");
        return Promise.resolve();
      };
      await assert.rejects(
        ensurePulumi({ env, download: wrong, build: refuse("no Go") }),
        /the new pulumi says version 3\.260\.0/,
      );
      assert.equal(findPulumi(env), undefined);
    });

    it("names a cache folder that it cannot write", async () => {
      writeFileSync(cache, "a file");
      await assert.rejects(
        ensurePulumi({ env, download: install }),
        (error) =>
          isToolchainError(error) &&
          error.message.includes(cache) &&
          error.hint.includes("CAPSTAN_CACHE"),
      );
    });

    it("does not take what a killed set-up left for a result", async () => {
      const killed = join(cache, `${targetName}.tmp-killed`);
      writePulumi(join(killed, "bin"));
      assert.equal(findPulumi(env), undefined);

      const found = await ensurePulumi({ env, download: install });
      assert.equal(found.binDir, join(cache, targetName, "bin"));
      assert.deepEqual(leftovers(), [`${targetName}.tmp-killed`], "it may still be running");
    });

    it("removes what a killed set-up left long ago", async () => {
      const killed = join(cache, `${targetName}.tmp-killed`);
      writePulumi(join(killed, "bin"));
      const twoDaysAgo = new Date(Date.now() - 2 * 24 * 60 * 60 * 1000);
      utimesSync(killed, twoDaysAgo, twoDaysAgo);
      await ensurePulumi({ env, download: install });
      assert.deepEqual(leftovers(), []);
    });

    it("replaces a damaged result", async () => {
      const cached = writeCache();
      rmSync(join(cached, "pulumi-language-nodejs"));
      assert.equal(findPulumi(env), undefined);
      const found = await ensurePulumi({ env, download: install });
      assert.deepEqual(findPulumi(env), found);
      assert.deepEqual(leftovers(), []);
    });

    it("lets two set-ups at once both end well", async () => {
      let arrived = 0;
      let release = (): void => undefined;
      const bothArrived = new Promise<void>((resolve) => (release = resolve));
      const together: Install = async (request) => {
        await install(request);
        if (++arrived === 2) release();
        await bothArrived;
      };
      const options = { env, download: together, build: refuse("not needed") };
      const [first, second] = await Promise.all([ensurePulumi(options), ensurePulumi(options)]);
      assert.deepEqual(first, second);
      assert.deepEqual(findPulumi(env), first);
      assert.deepEqual(leftovers(), []);
    });
  });
});
