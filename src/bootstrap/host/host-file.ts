/** A file of a host, and who may read it. */
export interface HostFile {
  readonly path: string;
  /** As chmod takes it: "0600". Whatever holds a secret is closed to others. */
  readonly mode: string;
  readonly content: string;
}
