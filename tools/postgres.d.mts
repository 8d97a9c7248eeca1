/**
 * Absolute path of the folder with PostgreSQL's server programs: that of initdb on PATH, or the newest
 * of the folders in which Debian keeps versions; undefined when there is none.
 */
export declare function findPostgres(
  env: NodeJS.ProcessEnv,
  versionsFolder?: string,
): string | undefined;

/**
 * `findPostgres`, and where that finds nothing, Debian's package.
 *
 * @throws an Error with a hint when it cannot be installed
 */
export declare function ensurePostgres(options?: {
  /** `process.env` when left out. */
  readonly env?: NodeJS.ProcessEnv;
  readonly progress?: (text: string) => void;
  readonly find?: (env: NodeJS.ProcessEnv) => string | undefined;
  readonly install?: () => Promise<void>;
}): Promise<string>;
