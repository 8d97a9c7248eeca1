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

/** Why there is no usable Pulumi. The hint is the user's next action. */
export interface ToolchainError extends Error {
  readonly code: "TOOLCHAIN";
  readonly hint: string;
}

/** Receives one line of text without line end. */
export type Progress = (text: string) => void;

/** Puts pulumi and its two companions into `folder`/bin, or rejects and says why it cannot. */
export type Install = (request: {
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  readonly progress: Progress;
}) => Promise<void>;

export interface EnsureOptions {
  /** `process.env` when left out. */
  readonly env?: NodeJS.ProcessEnv;
  /** Called at every step and at least every 15 seconds while one lasts. */
  readonly progress?: Progress;
  /** Tried first; the official release when left out. */
  readonly download?: Install;
  /** Tried second; a build from Go modules when left out. */
  readonly build?: Install;
}

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
