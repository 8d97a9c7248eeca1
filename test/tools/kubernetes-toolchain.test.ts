import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import {
  controlPlaneSet,
  downloadKubernetes,
  ensureKubeadms,
  ensureKubernetes,
  ensureKubernetesNode,
  ensurePreviousKubernetes,
  etcdVersion,
  findKubeadm,
  findKubernetes,
  findKubernetesNode,
  findPreviousKubernetes,
  type Install,
  kubeadmVersions,
  kubernetesDigests,
  kubernetesVersion,
  previousKubernetesVersion,
  programSets,
  type ToolchainError,
} from "#kubernetes";
import { scratchFolder } from "../support/scratch.js";

const targetName = `kubernetes-${kubernetesVersion}-${process.platform}-${process.arch}`;
const programs: Readonly<Record<string, string>> = {
  etcd: `etcd Version: ${etcdVersion}`,
  "kube-apiserver": `Kubernetes v${kubernetesVersion}`,
  "kube-controller-manager": `Kubernetes v${kubernetesVersion}`,
  kubectl: `Client Version: v${kubernetesVersion}`,
};

function scriptThatPrints(text: string): string {
  return `#!/bin/sh\necho '${text}'\n`;
}

/** Makes a folder with programs that print their versions as the real ones do. */
function writePrograms(folder: string, others: Readonly<Record<string, string>> = {}): string {
  mkdirSync(folder, { recursive: true });
  for (const [name, version] of Object.entries({ ...programs, ...others })) {
    writeFileSync(join(folder, name), scriptThatPrints(version));
    chmodSync(join(folder, name), 0o755);
  }
  return folder;
}

function isToolchainError(error: unknown): error is ToolchainError {
  return error instanceof Error && "code" in error && error.code === "TOOLCHAIN";
}

const refuse =
  (cause: string): Install =>
  () =>
    Promise.reject(new Error(cause));

describe("the control plane of the tests", () => {
  const scratch = scratchFolder();
  let env: NodeJS.ProcessEnv;
  let cache: string;
  beforeEach(() => {
    cache = join(scratch.path, "cache");
    env = { CAPSTAN_CACHE: cache, PATH: join(scratch.path, "empty") };
  });

  const writeCache = () => writePrograms(join(cache, targetName, "bin"));
  const install: Install = ({ folder }) => {
    writePrograms(join(folder, "bin"));
    return Promise.resolve();
  };

  it("is found where it is named, before the cache, and nowhere else", () => {
    assert.equal(
      findKubernetes({ ...env, PATH: writePrograms(join(scratch.path, "a")) }),
      undefined,
    );
    assert.deepEqual(findKubernetes(env), undefined);
    const cached = writeCache();
    assert.deepEqual(findKubernetes(env), { binDir: cached, origin: "cache" });
    const named = writePrograms(join(scratch.path, "named"));
    assert.deepEqual(findKubernetes({ ...env, CAPSTAN_KUBERNETES: named }), {
      binDir: named,
      origin: "CAPSTAN_KUBERNETES",
    });
  });

  it("is not another one when a program is missing where it is named", async () => {
    writeCache();
    const named = writePrograms(join(scratch.path, "named"));
    rmSync(join(named, "kubectl"));
    const full = { ...env, CAPSTAN_KUBERNETES: named };
    const isExpected = (error: unknown) =>
      isToolchainError(error) &&
      error.message === `cannot use CAPSTAN_KUBERNETES ${named}: there is no kubectl` &&
      error.hint.endsWith("or unset it");
    assert.throws(() => findKubernetes(full), isExpected);
    await assert.rejects(ensureKubernetes({ env: full }), isExpected);
  });

  it("is not complete in the cache without each program", () => {
    for (const name of Object.keys(programs)) {
      rmSync(join(writeCache(), name));
      assert.equal(findKubernetes(env), undefined, name);
    }
  });

  it("is set up once, by the first way that works", async () => {
    const lines: string[] = [];
    const progress = (text: string) => void lines.push(text);
    const ways = { download: refuse("no network"), build: install };
    const first = await ensureKubernetes({ env, progress, ...ways });
    assert.deepEqual(first, { binDir: join(cache, targetName, "bin"), origin: "cache" });
    assert.deepEqual(lines, ["no download: no network"]);
    const again = { download: refuse("asked"), build: refuse("asked") };
    assert.deepEqual(await ensureKubernetes({ env, ...again }), first);
    assert.deepEqual(readdirSync(cache), [targetName], "nothing else is left");
  });

  it("with neither network nor Go says once what to do", async () => {
    await assert.rejects(ensureKubernetes({ env, download: refuse("no network") }), (error) => {
      assert.ok(isToolchainError(error));
      assert.equal(
        error.message,
        `cannot set up kubernetes ${kubernetesVersion}: no download (no network), no build (no Go on PATH)`,
      );
      assert.match(error.hint, /dl\.k8s\.io.*Go 1\.25\.0 or newer.*CAPSTAN_KUBERNETES/);
      return true;
    });
    assert.deepEqual(readdirSync(cache), []);
  });

  for (const [name, said] of Object.entries(programs)) {
    it(`is not kept with a ${name} of another version`, async () => {
      const wrong: Install = ({ folder }) => {
        writePrograms(join(folder, "bin"), { [name]: said.replace(/\d+$/, "99") });
        return Promise.resolve();
      };
      await assert.rejects(
        ensureKubernetes({ env, download: wrong, build: refuse("no Go") }),
        new RegExp(`no download \\(the new ${name} says version \\d+\\.\\d+\\.99\\)`),
      );
      assert.equal(findKubernetes(env), undefined);
    });
  }

  describe("from Go modules", () => {
    let calls: string;
    let full: NodeJS.ProcessEnv;
    beforeEach(() => {
      const bin = join(scratch.path, "go-bin");
      mkdirSync(bin);
      calls = join(scratch.path, "calls");
      // Pretends to be Go: notes how it was called, and "builds" a program that says its version.
      writeFileSync(
        join(bin, "go"),
        `#!/bin/sh
if [ "$1" = version ]; then echo go version go1.26.8 linux/amd64; exit; fi
echo "$CGO_ENABLED/$GOTOOLCHAIN/$GOFLAGS $(basename "$PWD") $*" >> '${calls}'
for last; do [ "$before" = -o ] && out=$last; before=$last; done
case $last in
  *etcd*) said='etcd Version: ${etcdVersion}';;
  *) said="Kubernetes $(echo "$*" | sed 's/.*gitVersion=\\(v[0-9.]*\\).*/\\1/')";;
esac
printf '#!/bin/sh\necho "%s"\n' "$said" > "$out"
chmod +x "$out"
`,
      );
      chmodSync(join(bin, "go"), 0o755);
      full = { ...env, PATH: `${bin}:/usr/bin:/bin`, GOFLAGS: "-race", GOOS: "plan9" };
    });
    const download = refuse("no network");
    const linesOf = () => readFileSync(calls, "utf8").trim().split("\n");

    it("each program is built once, with its version, for this machine alone", async () => {
      const { binDir } = await ensureKubernetes({ env: full, download });
      assert.deepEqual(readdirSync(binDir), Object.keys(programs));
      const lines = linesOf();
      assert.equal(lines.length, 4);
      assert.ok(
        lines.every((line) => /^0\/local\/-mod=readonly \S+ build -trimpath /.test(line)),
        lines.join("\n"),
      );
      const stamped = lines.filter((line) =>
        line.includes(`version.gitVersion=v${kubernetesVersion}`),
      );
      assert.equal(stamped.length, 3);
    });

    it("programs of nodes and older kubeadms are sets of their own, each from its module", async () => {
      assert.equal(findKubernetesNode(full), undefined);
      await ensureKubeadms({ env: full, download });
      await ensureKubeadms({ env: full, download, build: refuse("asked") });
      const binDir = await ensureKubernetesNode({ env: full, build: refuse("asked") });
      assert.equal(binDir, findKubernetesNode(full));
      assert.deepEqual(readdirSync(binDir).sort(), ["kube-scheduler", "kubeadm", "kubelet"]);
      const said = kubeadmVersions.map((version) =>
        spawnSync(findKubeadm(version, full) ?? "", { encoding: "utf8" }).stdout.trim(),
      );
      assert.deepEqual(
        said,
        kubeadmVersions.map((version) => `Kubernetes v${version}`),
      );
      assert.deepEqual(
        linesOf().map((line) => line.split(" ")[1]),
        ["kubernetes", "kubernetes", "kubernetes", "kubernetes-1.34", "kubernetes-1.30"],
      );
      assert.equal(findKubernetes(full), undefined, "no control plane is set up along with them");
    });
  });

  describe("of the minor before", () => {
    it("is a set without etcd and kubectl, set up when it is asked for", async () => {
      assert.equal(findPreviousKubernetes(env), undefined);
      const said = scriptThatPrints(`Kubernetes v${previousKubernetesVersion}`);
      const build: Install = ({ folder }) => {
        mkdirSync(join(folder, "bin"));
        for (const name of [
          "kube-apiserver",
          "kube-controller-manager",
          "kube-scheduler",
          "kubelet",
        ]) {
          writeFileSync(join(folder, "bin", name), said, { mode: 0o755 });
        }
        return Promise.resolve();
      };
      const binDir = await ensurePreviousKubernetes({ env, download: refuse("no network"), build });
      assert.equal(findPreviousKubernetes(env), binDir);
      const minorOf = (version: string) => Number(version.split(".")[1]);
      assert.equal(minorOf(previousKubernetesVersion), minorOf(kubernetesVersion) - 1);
      assert.ok(kubeadmVersions.includes(previousKubernetesVersion));
    });
  });

  describe("from releases", () => {
    let server: Server;
    let files: Map<string, Buffer>;
    let digests: Map<string, string>;
    const sha256 = (content: Buffer) => createHash("sha256").update(content).digest("hex");

    /** What the release of etcd looks like: an archive with a folder of its name. */
    const etcdArchive = (name: string): Buffer => {
      const folder = join(scratch.path, "release");
      mkdirSync(join(folder, name), { recursive: true });
      writeFileSync(join(folder, name, "etcd"), scriptThatPrints(programs["etcd"] ?? ""));
      chmodSync(join(folder, name, "etcd"), 0o755);
      return spawnSync("tar", ["-czf", "-", "-C", folder, name]).stdout;
    };

    beforeEach(async () => {
      files = new Map();
      digests = new Map();
      const arch = process.arch === "x64" ? "amd64" : process.arch;
      for (const [name, said] of Object.entries(programs).slice(1)) {
        const content = Buffer.from(scriptThatPrints(said));
        const path = `/v${kubernetesVersion}/bin/linux/${arch}/${name}`;
        files.set(path, content);
        digests.set(`${name} ${kubernetesVersion} ${arch}`, `sha256:${sha256(content)}`);
      }
      const release = `etcd-v${etcdVersion}-linux-${arch}`;
      const archive = etcdArchive(release);
      files.set(`/v${etcdVersion}/${release}.tar.gz`, archive);
      digests.set(`etcd ${etcdVersion} ${arch}`, `sha256:${sha256(archive)}`);
      server = createServer(({ url = "" }, response) => {
        const content = files.get(url);
        response.writeHead(content ? 200 : 404).end(content);
      });
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    });
    afterEach(() => server.close());

    const ensure = () => {
      const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const origins = { kubernetes: origin, etcd: origin };
      return ensureKubernetes({
        env: { ...env, PATH: process.env["PATH"] },
        download: (request) => downloadKubernetes(controlPlaneSet, request, { origins, digests }),
        build: refuse("not asked"),
      });
    };

    const onLinux = process.platform === "linux";

    it(onLinux ? "goes into the cache" : "is refused for other systems", async () => {
      if (!onLinux) {
        await assert.rejects(ensure(), /there is no release for /);
        return;
      }
      const { binDir } = await ensure();
      assert.deepEqual(readdirSync(binDir).sort(), Object.keys(programs).sort());
      assert.deepEqual(readdirSync(join(cache, targetName)), ["bin"], "nothing else is left");
    });

    for (const name of ["kube-apiserver", ".tar.gz"]) {
      it(`is refused when ${name} is another one, also with checksums beside it that fit`, async () => {
        for (const [path, content] of [...files]) {
          if (!path.endsWith(name)) continue;
          const another = Buffer.from(
            content.toString("latin1").replace(/[0-9a-f]/g, "0"),
            "latin1",
          );
          const sums = path.replace(/[^/]*$/, "SHA256SUMS");
          files.set(path, another).set(`${path}.sha256`, Buffer.from(sha256(another)));
          files.set(sums, Buffer.from(`${sha256(another)}  ${path.split("/").at(-1) ?? ""}\n`));
        }
        await assert.rejects(ensure(), /no download \(checksum of .* is [0-9a-f]{64}, pinned is/);
        assert.ok(!existsSync(join(cache, targetName)));
      });
    }

    it("is refused before anything is fetched where a digest is not pinned", async () => {
      for (const name of [...digests.keys()].filter((one) => one.startsWith("kubectl"))) {
        digests.delete(name);
      }
      files.clear();
      await assert.rejects(
        ensure(),
        /no download \(no checksum of kubectl 1\.[\d.]+ \w+ is pinned/,
      );
    });

    describe("of programs without digests of their own", () => {
      const inArchive = ["kube-apiserver", "kube-controller-manager"];
      const path = `/v${kubernetesVersion}/kubernetes-server-linux-${process.arch === "x64" ? "amd64" : process.arch}.tar.gz`;
      let archive: Buffer;

      beforeEach(() => {
        const bin = join("kubernetes", "server", "bin");
        writePrograms(join(scratch.path, "server", bin));
        writeFileSync(join(scratch.path, "server", "kubernetes", "LICENSES"), "of others");
        archive = spawnSync("tar", [
          "-czf",
          "-",
          "-C",
          join(scratch.path, "server"),
          "kubernetes",
        ]).stdout;
        files.set(path, archive);
        for (const key of [...files.keys(), ...digests.keys()]) {
          if (!inArchive.some((name) => key.includes(name))) continue;
          files.delete(key);
          digests.delete(key);
        }
        const arch = process.arch === "x64" ? "amd64" : process.arch;
        const digest = createHash("sha512").update(archive).digest("hex");
        digests.set(`kubernetes-server ${kubernetesVersion} ${arch}`, `sha512:${digest}`);
      });

      it("takes them from the archive of the release, and keeps nothing else of it", async () => {
        const { binDir } = await ensure();
        assert.deepEqual(readdirSync(binDir).sort(), Object.keys(programs).sort());
        assert.deepEqual(readdirSync(join(cache, targetName)), ["bin"]);
      });

      it("refuses another archive, and goes on to the next way", async () => {
        files.set(path, Buffer.concat([archive, Buffer.from("x")]));
        await assert.rejects(
          ensure(),
          /no download \(checksum of kubernetes-server-.* is [0-9a-f]{128}, pinned/,
        );
        assert.ok(!existsSync(join(cache, targetName)));
      });

      it("goes on to the next way where the archive is not there", async () => {
        files.delete(path);
        await assert.rejects(ensure(), /no download \(127\.0\.0\.1:\d+ answered 404\), no build/);
        assert.deepEqual(readdirSync(cache), []);
      });
    });

    it("has a digest for each program that hosts and tests run, so that nothing is built where downloads work", () => {
      const missing = programSets.flatMap(({ files: all, version }) =>
        all.filter((file) => {
          const own = file === "etcd" ? etcdVersion : version;
          return !["amd64", "arm64"].every(
            (arch) =>
              kubernetesDigests.has(`${file} ${own} ${arch}`) ||
              kubernetesDigests.has(`kubernetes-server ${version} ${arch}`),
          );
        }),
      );
      assert.deepEqual(missing, []);
      for (const digest of kubernetesDigests.values()) {
        assert.match(digest, /^(sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})$/);
      }
    });

    it("is refused when a file is missing there", async () => {
      files.delete([...files.keys()].find((path) => path.endsWith("/kubectl")) ?? "");
      await assert.rejects(ensure(), /no download \(127\.0\.0\.1:\d+ answered 404\)/);
    });
  });
});
