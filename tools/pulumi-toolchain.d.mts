import type { EnsureOptions } from "./toolchain.d.mts";

/** The Pulumi release that Capstan sets up and is tested with. */
export declare const pulumiVersion: "3.259.0";

/** A usable Pulumi command line, with the Node.js language host and the dynamic provider at hand. */
export interface PulumiToolchain {
  /** Absolute path of the pulumi program. */
  readonly bin: string;
  /** Its folder; to be put first on the PATH of whoever runs it. */
  readonly binDir: string;
  /** What led to it. */
  readonly origin: "CAPSTAN_PULUMI" | "PATH" | "cache";
}

export type { EnsureOptions, Install, Progress, ToolchainError } from "./toolchain.d.mts";

export { cacheRoot } from "./cache-root.mjs";

/**
 * The Pulumi to use, in this order: CAPSTAN_PULUMI, PATH, the cache; undefined when there is none.
 * One on PATH that does not fit is passed over. Starts no process unless there is one to ask, whose
 * version is then remembered in the cache.
 *
 * @throws ToolchainError when CAPSTAN_PULUMI names something that cannot be used
 */
export declare function findPulumi(env: NodeJS.ProcessEnv): PulumiToolchain | undefined;

/**
 * `findPulumi`, and where that finds nothing, a set-up into the cache by download or build. Safe to
 * be killed, and to be run by several processes at once.
 *
 * @throws ToolchainError when CAPSTAN_PULUMI cannot be used, the cache cannot be written, or neither
 *   download nor build succeeds
 */
export declare function ensurePulumi(options?: EnsureOptions): Promise<PulumiToolchain>;
