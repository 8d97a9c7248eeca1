// Sets up Pulumi by building it from Go modules, for machines that reach a module proxy but not the
// release server. The two folders beside this file lock every module by version and hash.

import { chmodSync, copyFileSync, mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { dynamicProviderFile, pulumiVersion } from "./pulumi-release.mjs";
import { compareVersions } from "./runtime.mjs";
import { run } from "./run.mjs";

const minimumGo = "1.25.11";

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

/** @type {import("./pulumi-toolchain.d.mts").Install} */
export async function buildPulumi({ folder, env, progress }) {
  await requireGo(env);
  const bin = join(folder, "bin");
  mkdirSync(bin);
  for (const build of builds) {
    progress(`building ${build.module} ${build.version} with Go, usually ${build.usually}`);
    await goBuild(build, bin, env);
  }
  // From our own dependency, wherever the package manager has put it.
  const sdk = createRequire(import.meta.url).resolve("@pulumi/pulumi/package.json");
  const dynamicProvider = join(bin, dynamicProviderFile);
  copyFileSync(join(dirname(sdk), dynamicProviderFile), dynamicProvider);
  chmodSync(dynamicProvider, 0o755);
}

/**
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<void>}
 */
async function requireGo(env) {
  const { output } = await run("go", ["version"], { env: goEnv(env) }).catch(() => {
    throw new Error("no Go on PATH");
  });
  const version = /\bgo(\d+\.\d+(\.\d+)?)/.exec(output)?.[1];
  if (!version) throw new Error(`go version says ${output.trim()}`);
  if (compareVersions(version, minimumGo) < 0) {
    throw new Error(`Go ${version} is older than ${minimumGo}`);
  }
}

/**
 * @param {typeof builds[number]} build
 * @param {string} bin
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<void>}
 */
async function goBuild(build, bin, env) {
  const versionVariable = "github.com/pulumi/pulumi/sdk/v3/go/common/version.Version";
  const { code, output } = await run(
    "go",
    [
      "build",
      "-trimpath",
      "-buildvcs=false",
      ...["-tags", "osusergo,grpcnotrace"],
      ...["-ldflags", `-w -s -X ${versionVariable}=v${build.version}`],
      ...["-o", bin + sep],
      build.package,
    ],
    { cwd: fileURLToPath(new URL(build.module, import.meta.url)), env: goEnv(env) },
  );
  if (code !== 0) {
    const lastLines = output.trim().split("\n").slice(-3).join("; ");
    throw new Error(`go build of ${build.module} ended with ${code}: ${lastLines}`);
  }
}

/**
 * The user's environment (proxies, caches) without what would change the result: another target, a
 * workspace around us, flags, or a Go that downloads a newer Go.
 *
 * @param {NodeJS.ProcessEnv} env
 * @returns {NodeJS.ProcessEnv}
 */
function goEnv(env) {
  return {
    ...env,
    CGO_ENABLED: "0",
    GOARCH: "",
    GOFLAGS: "-mod=readonly",
    GOOS: "",
    GOTOOLCHAIN: "local",
    GOWORK: "off",
  };
}
