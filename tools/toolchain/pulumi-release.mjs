// The one Pulumi release that Capstan sets up, and the files it needs from it.

/** Equal to the version of the @pulumi/pulumi dependency. */
export const pulumiVersion = "3.259.0";

/**
 * What the archives of that release are, by name: nothing is believed that is fetched beside them. One that is not here is not
 * downloaded. Sources: pulumi/homebrew-tap, Formula/pulumi.rb at 51fb494; ScoopInstaller/Main, bucket/pulumi.json at 5ce3ffd21d.
 *
 * @type {ReadonlyMap<string, string>}
 */
export const pulumiDigests = new Map([
  ["darwin-x64.tar.gz", "sha256:eaca4c3b8277bfa3ab061fa3b270d1c66358a0b2e613da8c5587a04b7226c534"],
  [
    "darwin-arm64.tar.gz",
    "sha256:57c27f179e527e2cf9f62b841a448af72a020e44b2fb4ee0d9bd85556c00c864",
  ],
  ["linux-arm64.tar.gz", "sha256:edc8327463a72160bb36cf82cf5062da9c8a244290a706d9980988e7bf486853"],
  ["linux-x64.tar.gz", "sha256:94ba357acac23d01474084c4b00098dc0f7bc70ce13f34c777459254a5f718e5"],
  [
    "windows-x64.zip",
    "sha512:7a49068c2a10110c5887135d43d7ab02b8b23c95af15a3b0f35104fced8366dac48ed33da6f2a4da55f74d960f894dbe6d6c75ea0cdf95ff3fa2991a2474dca6",
  ],
]);

const isWindows = process.platform === "win32";

/** The command line itself. */
export const cliFile = isWindows ? "pulumi.exe" : "pulumi";

/** Starts Node.js programs. */
export const languageHostFile = isWindows ? "pulumi-language-nodejs.exe" : "pulumi-language-nodejs";

/** Starts the dynamic providers of Node.js programs. */
export const dynamicProviderFile = isWindows
  ? "pulumi-resource-pulumi-nodejs.cmd"
  : "pulumi-resource-pulumi-nodejs";
