import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import semver from "semver";
import { repository } from "../scenario/sandbox.js";

/** On which the package is installed, and hands over to a newer one. */
const oldNode = "20.20.2";

interface Locked {
  readonly dev?: boolean;
  readonly engines?: { readonly node?: string };
}

const { packages } = JSON.parse(readFileSync(join(repository, "package-lock.json"), "utf8")) as {
  readonly packages: Readonly<Record<string, Locked>>;
};

describe("an installation on Node.js 20", () => {
  it("makes npm warn of those packages alone that the README names", () => {
    const warned = Object.entries(packages)
      .filter(([, { dev }]) => dev !== true)
      .filter(([, { engines }]) => !semver.satisfies(oldNode, engines?.node ?? "*"))
      .map(([path]) => (path === "" ? "capstan" : path.replace(/^.*node_modules\//, "")));
    const readme = readFileSync(join(repository, "README.md"), "utf8");
    const [, named = ""] =
      /npm warns once each \(`EBADENGINE`\) of (.+?), which/.exec(readme) ?? [];
    const names = [...named.matchAll(/`([^`]+)`/g)].map(([, name]) => name);
    assert.deepEqual(warned.sort(), names.sort());
  });
});
