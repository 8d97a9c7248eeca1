/** A file of a host, and who may read it. */
export interface HostFile {
  readonly path: string;
  /** As chmod takes it: "0600". Whatever holds a secret is closed to others. */
  readonly mode: string;
  /** "user:group", both of the image; absent: root. */
  readonly owner?: string;
  readonly content: string;
}
