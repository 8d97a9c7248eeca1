// Where everything goes that can be made again. Loaded at every start, so it imports next to nothing.

import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";

/**
 * The folder for what can be made again: CAPSTAN_CACHE, else the user's cache folder. Pure.
 *
 * @param {NodeJS.ProcessEnv} env
 * @returns {string}
 */
export function cacheRoot(env) {
  if (env["CAPSTAN_CACHE"]) return resolve(env["CAPSTAN_CACHE"]);
  // The XDG specification wants relative paths to be ignored.
  if (env["XDG_CACHE_HOME"] && isAbsolute(env["XDG_CACHE_HOME"])) {
    return join(env["XDG_CACHE_HOME"], "capstan");
  }
  const home = env["HOME"] || homedir();
  if (process.platform === "darwin") return join(home, "Library", "Caches", "capstan");
  if (process.platform === "win32") {
    return join(env["LOCALAPPDATA"] || join(home, "AppData", "Local"), "capstan");
  }
  return join(home, ".cache", "capstan");
}
