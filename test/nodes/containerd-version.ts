import { output } from "./namespaces.js";

/** Of this machine's, which hosts run. */
export async function containerdVersion(): Promise<string> {
  const text = await output("containerd", ["--version"]);
  const [version] = /\d+\.\d+\.\d+/.exec(text) ?? [];
  if (version === undefined) throw new Error(`containerd says no version: ${text}`);
  return version;
}
