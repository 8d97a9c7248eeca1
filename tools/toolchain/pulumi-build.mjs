// Sets up Pulumi by building it from Go modules.

import { chmodSync, copyFileSync, mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { goBuild, requireGo } from "./go-build.mjs";
import { dynamicProviderFile, pulumiVersion } from "./pulumi-release.mjs";

/** @type {string} */
export const minimumGo = "1.25.11";

// The language host comes from sdk/v3 3.68.0, the last that holds it; it is a module of its own now,
// which proxies do not serve. It works with newer command lines and SDKs.
const builds = [
  {
    module: "pulumi-language-nodejs",
    package: "github.com/pulumi/pulumi/sdk/v3/nodejs/cmd/pulumi-language-nodejs",
    version: "3.68.0",
    usually: "under a minute",
  },
  {
    module: "pulumi",
    package: "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi",
    version: pulumiVersion,
    usually: "3 to 5 minutes",
  },
];
const versionVariable = "github.com/pulumi/pulumi/sdk/v3/go/common/version.Version";

/** @type {import("./cached-toolchain.mjs").Install} */
export async function buildPulumi({ folder, env, progress, signal }) {
  await requireGo(minimumGo, env);
  const bin = join(folder, "bin");
  mkdirSync(bin);
  for (const { module, package: path, version, usually } of builds) {
    progress(`building ${module} ${version} with Go, usually ${usually}`);
    const variables = { [versionVariable]: `v${version}` };
    const program = {
      module: new URL(module, import.meta.url),
      package: path,
      tags: ["osusergo", "grpcnotrace"],
      variables,
    };
    await goBuild(program, { folder: bin }, { env, signal });
  }
  // From our own dependency, wherever the package manager has put it.
  const sdk = createRequire(import.meta.url).resolve("@pulumi/pulumi/package.json");
  const dynamicProvider = join(bin, dynamicProviderFile);
  copyFileSync(join(dirname(sdk), dynamicProviderFile), dynamicProvider);
  chmodSync(dynamicProvider, 0o755);
}
