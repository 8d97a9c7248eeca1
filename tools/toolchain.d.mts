/** Why there is no usable toolchain. The hint is the user's next action. */
export interface ToolchainError extends Error {
  readonly code: "TOOLCHAIN";
  readonly hint: string;
}

/** Receives one line of text without line end. */
export type Progress = (text: string) => void;

/** Puts the programs of a toolchain into `folder`/bin, or rejects and says why it cannot. */
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
