// The one Pulumi release that Capstan sets up, and the files it needs from it.

/** Equal to the version of the @pulumi/pulumi dependency. */
export const pulumiVersion = "3.259.0";

const isWindows = process.platform === "win32";

/** The command line itself. */
export const cliFile = isWindows ? "pulumi.exe" : "pulumi";

/** Starts Node.js programs. */
export const languageHostFile = isWindows ? "pulumi-language-nodejs.exe" : "pulumi-language-nodejs";

/** Starts the dynamic providers of Node.js programs. */
export const dynamicProviderFile = isWindows
  ? "pulumi-resource-pulumi-nodejs.cmd"
  : "pulumi-resource-pulumi-nodejs";
