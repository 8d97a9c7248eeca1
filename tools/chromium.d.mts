/** Puts a browser where `findChromium` finds it, or rejects and says why it cannot. */
export type InstallChromium = (request: {
  readonly env: NodeJS.ProcessEnv;
  /** The folder in the cache that the browser's program goes into. */
  readonly target: string;
  /** Where releases are; the official place when left out. */
  readonly origin?: string;
}) => Promise<void>;

export interface EnsureChromiumOptions {
  /** `process.env` when left out. */
  readonly env?: NodeJS.ProcessEnv;
  readonly progress?: (text: string) => void;
  /** Tried first; the official release when left out. */
  readonly download?: InstallChromium;
  /** Tried second; Debian's package when left out. */
  readonly install?: InstallChromium;
}

/**
 * Absolute path of a Chromium or Chrome, in this order: CAPSTAN_CHROMIUM, PATH, the cache; undefined
 * when there is none.
 *
 * @throws an Error with a hint when CAPSTAN_CHROMIUM names no program
 */
export declare function findChromium(env: NodeJS.ProcessEnv): string | undefined;

/**
 * `findChromium`, and where that finds nothing, one from the official release or a package.
 *
 * @throws an Error with a hint when none of the ways succeeds
 */
export declare function ensureChromium(options?: EnsureChromiumOptions): Promise<string>;

/** Sets up the official release in the target folder, if its digest is right and it starts. */
export declare const downloadChromium: InstallChromium;
