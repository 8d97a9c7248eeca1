import assert from "node:assert/strict";
import { join } from "node:path";
import { hostBootstrap, type HostSettings } from "../../src/bootstrap/host/host-bootstrap.js";
import { criSocketOf } from "../../src/bootstrap/host/software.js";
import { scratchFolder } from "../support/scratch.js";
import { HostSandbox } from "./host-sandbox.js";
import { sampleHost, sampleToken } from "./sample-host.js";

const join1 = { token: sampleToken, caCertHashes: [`sha256:${"a".repeat(64)}`] };

describe("the packages of a host", () => {
  const scratch = scratchFolder();

  /** What the script did on a host of such a distribution. */
  const boot = async (osRelease: string, about: Partial<HostSettings> = {}) => {
    const host = new HostSandbox(join(scratch.path, "host"), osRelease);
    const worker = sampleHost({ kind: "joinWorker", join: join1 });
    const { files, script } = hostBootstrap({ ...worker, ...about });
    for (const file of files) host.write(file);
    const { code } = await host.run(script);
    return { host, code };
  };

  const distributions: { name: string; osRelease: string; want: string }[] = [
    {
      name: "Debian 12",
      osRelease: 'NAME="Debian GNU/Linux"\nVERSION_CODENAME=bookworm\nID=debian\n',
      want: "https://download.docker.com/linux/debian bookworm stable",
    },
    {
      name: "Ubuntu 24.04",
      osRelease: 'NAME="Ubuntu"\nVERSION_CODENAME=noble\nID=ubuntu\nID_LIKE=debian\n',
      want: "https://download.docker.com/linux/ubuntu noble stable",
    },
    {
      name: "one whose texts are quoted",
      osRelease: `ID="ubuntu"\nVERSION_CODENAME='jammy'\n`,
      want: "https://download.docker.com/linux/ubuntu jammy stable",
    },
  ];
  for (const { name, osRelease, want } of distributions) {
    it(`come from Docker's repository for ${name}, with its key`, async () => {
      const { host, code } = await boot(osRelease);
      assert.equal(code, 0, host.read("/var/log/capstan-bootstrap.log"));
      const key = "/etc/apt/keyrings/capstan-docker.asc";
      const source = host.read("/etc/apt/sources.list.d/capstan-docker.list");
      assert.equal(source, `deb [signed-by=${join(host.folder, key)}] ${want}\n`);
      const [url = ""] = want.split(" ");
      assert.ok(host.calls.includes(`curl -fsSL --retry 5 -o ${key} ${url}/gpg`));
    });
  }

  const ubuntu = 'NAME="Ubuntu"\nVERSION_CODENAME=noble\nID=ubuntu\n';

  it("come from mirrors where these are said, those of the distribution too", async () => {
    const host = new HostSandbox(join(scratch.path, "mirrored"), ubuntu);
    const sources = "/etc/apt/sources.list.d/ubuntu.sources";
    const lists = [
      "URIs: http://eu-north-1.ec2.archive.ubuntu.com/ubuntu/",
      "URIs: http://security.ubuntu.com/ubuntu",
      "URIs: http://ports.ubuntu.com/ubuntu-ports/",
      "URIs: https://packages.example.org/ubuntu/",
      "",
    ];
    host.write({ path: sources, mode: "0644", content: lists.join("\n") });
    const mirror = "https://mirror.example.org/apt";
    const aptMirrors = {
      distribution: `${mirror}/ubuntu`,
      kubernetes: `${mirror}/k8s/`,
      docker: `${mirror}/docker`,
    };
    const worker = sampleHost({ kind: "joinWorker", join: join1 });
    const { files, script } = hostBootstrap({ ...worker, additions: { aptMirrors } });
    for (const file of files) host.write(file);
    const { code } = await host.run(script);
    assert.equal(code, 0, host.read("/var/log/capstan-bootstrap.log"));
    assert.deepEqual(host.read(sources).split("\n"), [
      `URIs: ${mirror}/ubuntu/`,
      `URIs: ${mirror}/ubuntu/`,
      `URIs: ${mirror}/ubuntu-ports/`,
      "URIs: https://packages.example.org/ubuntu/",
      "",
    ]);
    const docker = host.read("/etc/apt/sources.list.d/capstan-docker.list");
    assert.ok(docker.endsWith(`] ${mirror}/docker/ubuntu noble stable\n`), docker);
    const fetched = host.calls.filter((call) => call.startsWith("curl "));
    assert.ok(fetched.length > 1 && fetched.every((call) => call.includes(` ${mirror}/`)));
  });

  it("are fetched by a proxy, which the container runtime has and kubeadm has not", async () => {
    const host = new HostSandbox(join(scratch.path, "proxied"), ubuntu);
    const proxy = {
      http: "http://proxy.example.org:3128",
      https: "http://user:p%40ss@proxy.example.org:3128",
      no: ["10.0.0.0/16"],
    };
    const worker = sampleHost({ kind: "joinWorker", join: join1 });

    const { files, script } = hostBootstrap({ ...worker, additions: { proxy } });
    for (const file of files) host.write(file);
    const text = files.find(({ path }) => path === script)?.content ?? "";
    const [before = "", after = ""] = text.split("step='kubeadm join'");
    assert.match(before, /^export http_proxy='http:\/\/proxy\.example\.org:3128'$/m);
    assert.match(before, /^unset http_proxy https_proxy no_proxy$/m);
    assert.doesNotMatch(after, /proxy/);
    const { code } = await host.run(script);
    assert.equal(code, 0, host.read("/var/log/capstan-bootstrap.log"));
    const { endpoint, serviceCidrs, podCidrs, serviceDomain } = worker.cluster;
    const itself = ["localhost", "127.0.0.1", "169.254.169.254", endpoint.host];
    const within = [...serviceCidrs, ...podCidrs, ".svc", `.${serviceDomain}`];
    const none = [...itself, ...within, "10.0.0.0/16"].join(",");
    assert.equal(
      host.read("/etc/systemd/system/containerd.service.d/capstan-proxy.conf"),
      [
        "[Service]",
        `Environment="HTTP_PROXY=${proxy.http}"`,
        'Environment="HTTPS_PROXY=http://user:p%%40ss@proxy.example.org:3128"',
        `Environment="NO_PROXY=${none}"`,
        "",
      ].join("\n"),
    );
    assert.match(
      host.read("/etc/apt/apt.conf.d/capstan-proxy"),
      /^Acquire::http::Proxy "http:\/\/proxy\.example\.org:3128";\nAcquire::https::Proxy /,
    );
    const restarts = host.calls.filter((call) => call.startsWith("systemctl "));
    assert.deepEqual(restarts.slice(0, 3), [
      "systemctl daemon-reload",
      "systemctl enable containerd",
      "systemctl restart containerd",
    ]);
  });

  it("are asked for again while another process holds the lock of apt's lists", async () => {
    const host = new HostSandbox(
      join(scratch.path, "busy"),
      "ID=debian\nVERSION_CODENAME=bookworm\n",
    );
    const { files, script } = hostBootstrap(sampleHost({ kind: "joinWorker", join: join1 }));
    for (const file of files) host.write(file);
    host.refuses("apt-get update", 3);
    const { code } = await host.run(script);
    assert.equal(code, 0, host.read("/var/log/capstan-bootstrap.log"));
    const updates = host.calls.filter((call) => call === "apt-get update");
    assert.equal(updates.length, 3 + 2);
    const waits = host.calls.filter((call) => call.startsWith("sleep "));
    assert.equal(waits.length, 3);
  });

  it("are asked for no longer than apt waits for the lock of dpkg, and the console says so", async () => {
    const host = new HostSandbox(
      join(scratch.path, "stuck"),
      "ID=debian\nVERSION_CODENAME=bookworm\n",
    );
    const { files, script } = hostBootstrap(sampleHost({ kind: "joinWorker", join: join1 }));
    for (const file of files) host.write(file);
    const { code } = await host.run(script, { FAILING: "apt-get update" });
    assert.notEqual(code, 0);
    assert.match(host.read("/dev/console"), /failed with \d+ at: add package repositories/);
    const seconds = host.calls.flatMap((call) => /^sleep (\d+)$/.exec(call)?.[1] ?? []);
    assert.equal(
      seconds.reduce((sum, one) => sum + Number(one), 0),
      600,
    );
  });

  it("are the same for all of them where they do not depend on the distribution", async () => {
    const node = { criSocket: criSocketOf("cri-o") };
    const about = { ...sampleHost({ kind: "joinWorker", join: join1 }, {}, node) };
    const runtime = { name: "cri-o", version: "1.35.1" };
    const { host, code } = await boot("ID=ubuntu\nVERSION_CODENAME=noble\n", { ...about, runtime });
    assert.equal(code, 0, host.read("/var/log/capstan-bootstrap.log"));
    assert.match(
      host.read("/etc/apt/sources.list.d/capstan-cri-o.list"),
      /^deb \[signed-by=.*\] https:\/\/pkgs\.k8s\.io\/addons:\/cri-o:\/stable:\/v1\.35\/deb\/ \/$/m,
    );
  });

  it("are installed nowhere else, and the console says so", async () => {
    const { host, code } = await boot('ID="fedora"\n');
    assert.equal(code, 1);
    const said = host.read("/dev/console");
    assert.match(said, /^capstan: bootstrap failed with 1 at: recognize the distribution$/m);
    assert.match(said, /^there are packages for debian and ubuntu, and this is fedora$/m);
    assert.ok(!host.calls.some((call) => /^(apt-get|kubeadm) /.test(call)), host.calls.join("\n"));
  });

  it("are not installed from the repository of no release", async () => {
    const { host, code } = await boot("ID=debian\n");
    assert.notEqual(code, 0);
    assert.match(host.read("/dev/console"), /failed with \d+ at: recognize the distribution/);
  });
});
