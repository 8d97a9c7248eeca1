import assert from "node:assert/strict";
import { hostAdditionsOf } from "../../src/api/host-additions.js";
import { containerdFile } from "../../src/bootstrap/host/software.js";

/** Values of a file of containerd, each by its table and name. */
function valuesIn(text: string): ReadonlyMap<string, string> {
  let table = "";
  const values = new Map<string, string>();
  for (const line of text.split("\n")) {
    table = /^\[(.*)\]$/.exec(line)?.[1] ?? table;
    const [, name, value] = /^\s*(\w+) = "?(.*?)"?$/.exec(line) ?? [];
    if (name !== undefined && value !== undefined) values.set(`${table} ${name}`, value);
  }
  return values;
}

describe("the configuration of containerd", () => {
  const cases = [
    {
      version: "1.7.29",
      registry: 'plugins."io.containerd.grpc.v1.cri".registry config_path',
      sandbox: 'plugins."io.containerd.grpc.v1.cri" sandbox_image',
    },
    {
      version: "2.1.4",
      registry: 'plugins."io.containerd.cri.v1.images".registry config_path',
      sandbox: 'plugins."io.containerd.cri.v1.images".pinned_images sandbox',
    },
  ];
  for (const { version, registry, sandbox } of cases) {
    const values = valuesIn(containerdFile(version, "example.org/pause:3.10").content);

    it(`of ${version} names the folder in which users put mirrors of registries`, () => {
      assert.equal(values.get(registry), "/etc/containerd/certs.d");
    });

    it(`of ${version} names the pause image`, () => {
      assert.equal(values.get(sandbox), "example.org/pause:3.10");
    });
  }

  it("leaves that folder to the user's files", () => {
    const path = "/etc/containerd/certs.d/docker.io/hosts.toml";
    const bootstrap = { files: [{ path, content: "" }] };
    assert.equal(hostAdditionsOf({ bootstrap }).files?.[0]?.path, path);
  });
});
