import { projectName } from "./project.js";

/**
 * The checkpoint of a stack without resources, as `pulumi stack init` leaves it: it makes the stack
 * exist, encrypted with the passphrase that its salt was made with. Pure.
 */
export function emptyCheckpoint(stack: string, salt: string): string {
  return JSON.stringify({
    version: 3,
    checkpoint: {
      stack: `organization/${projectName}/${stack}`,
      latest: {
        // Which Pulumi wrote it, and when: nobody yet.
        manifest: { time: "0001-01-01T00:00:00Z", magic: "", version: "" },
        secrets_providers: { type: "passphrase", state: { salt } },
        metadata: {},
      },
    },
  });
}

/** What Pulumi keeps at the root of a file backend whose stacks lie in folders by project. */
export const layoutByProject = "version: 1\n";
