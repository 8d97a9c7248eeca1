import { type Static, type TSchema, Type } from "typebox";
import { type ErrorCode, errorCodes } from "../api/error.js";
import { driftPolicies } from "../api/drift-policy.js";
import { closed, stringEnum } from "../api/schema-parts.js";
import { driftClasses } from "../drift/classify.js";
import type { NodeKey } from "../graph/graph.js";

/** Raised when a reader of the document could break; what is only added leaves it. */
export const driftSchemaVersion = 1;

const count = (description: string) => Type.Integer({ minimum: 0, description });
const text = (description: string) => Type.String({ description });
const list = <T extends TSchema>(items: T, description: string) =>
  Type.Array(items, { description });

const field = closed(
  {
    path: text("Which field of the resource."),
    recorded: Type.Optional(Type.Unknown({ description: "As it is recorded; absent: none." })),
    seen: Type.Optional(Type.Unknown({ description: "As the cloud shows it; absent: none." })),
  },
  "One field that is not as it is recorded. Secrets are not told.",
);

const item = closed(
  {
    class: stringEnum(driftClasses, {
      description:
        "missing: gone from the cloud; failed: a host that never will run; stopped: one that can be started; unhealthy: one that runs, and whose Machine a health check does not find healthy; expiring: a member whose certificates expire sooner than its Cluster wants; leaving: one that the cloud is to take away; changed: not as recorded; " +
        "extra: carries the cluster's marks and is in no record; unknown: the cloud could not say.",
    }),
    key: Type.Unsafe<NodeKey>({
      type: "string",
      pattern: "^[^/]+/.+$",
      description: '"<Kind>/<name>" of the resource.',
    }),
    kind: text("Kind of the resource."),
    name: text("Its name in the graph."),
    machine: Type.Optional(text("The Machine whose host it is.")),
    controlPlane: Type.Optional(Type.Boolean({ description: "Whether that is a member of it." })),
    id: Type.Optional(text("The cloud's name for it.")),
    external: Type.Optional(
      Type.Literal(true, { description: "It is used and not ours: nothing is done about it." }),
    ),
    fields: list(field, "What differs; empty where it cannot be told by fields."),
    failure: Type.Optional(
      closed(
        {
          code: Type.Optional(
            stringEnum(Object.keys(errorCodes) as ErrorCode[], {
              description: "What Capstan makes of it; absent: CLOUD_FAILED.",
            }),
          ),
          reason: text("In the cloud's own words."),
        },
        "Of what failed: why, where the cloud says so.",
      ),
    ),
    expiresAtMs: Type.Optional(
      Type.Integer({
        description: "Of what is expiring: when its certificates do, milliseconds since the epoch.",
      }),
    ),
    leavesAtMs: Type.Optional(
      Type.Integer({ description: "Of what is leaving: when, milliseconds since the epoch." }),
    ),
    back: Type.Optional(
      stringEnum(["inPlace", "replace", "unsupported"], {
        description: "Of what has changed: what it takes to get back, as the provider judges.",
      }),
    ),
    origin: Type.Optional(
      stringEnum(["abandoned", "twin", "newer", "otherLife"], {
        description:
          "Of what is extra: left by an apply, a second one, made after what the state tells, or of another life.",
      }),
    ),
    policy: stringEnum(driftPolicies, { description: "The drift policy that counts for it." }),
    decision: stringEnum(["correct", "replace", "report", "ignore", "frozen", "overBudget"], {
      description: "What the watch loop does about it now.",
    }),
    how: Type.Optional(
      stringEnum(["create", "start", "update", "replace", "remove"], {
        description: "How it is corrected.",
      }),
    ),
    reason: text("The same for people, and why."),
  },
  "One thing that cloud and records do not agree about.",
);

const freeze = closed(
  {
    cause: stringEnum(["unreadable", "allGone", "noneListed", "tooManyUnhealthy"], {
      description: "Why the cloud's answer is not believed.",
    }),
    reason: text("The same for people."),
    thawsAtMs: Type.Optional(
      Type.Integer({ description: "When the same answer is believed; absent: never by itself." }),
    ),
  },
  "Nothing is corrected: the answer is implausible.",
);

const counts = closed(
  {
    missing: count("Gone."),
    failed: count("Hosts that never will run."),
    stopped: Type.Optional(count("Hosts that can be started.")),
    unhealthy: Type.Optional(count("Hosts that run, of Machines that are not healthy.")),
    expiring: Type.Optional(count("Members whose certificates expire soon.")),
    leaving: Type.Optional(count("Hosts that the cloud is to take away.")),
    changed: count("Not as recorded."),
    extra: count("In no record."),
    unknown: count("Nobody knows."),
  },
  "How many of each class, ignored ones included.",
);

const cluster = closed(
  {
    cluster: text("<namespace>/<name>."),
    stack: text("Name of its stack."),
    provider: text("Name of its provider."),
    revision: count("Number of the last committed revision; 0: none."),
    openTransaction: Type.Optional(count("Number of a transaction that is not finished.")),
    drift: Type.Boolean({ description: "Whether anything drifted that is not to be ignored." }),
    fingerprint: text("The same for the same findings; what drift-thaw names."),
    recorded: count("Resources that were looked for."),
    listed: count("How many resources of the records the listing showed."),
    counts,
    notChecked: Type.Optional(
      list(
        closed(
          {
            kind: text("Kind of resources."),
            fields: list(Type.String(), "Inputs of such a resource."),
          },
          "Fields of one kind that its cloud does not show.",
        ),
        "What nobody can tell drift of; absent: nothing.",
      ),
    ),
    freeze: Type.Optional(freeze),
    thawed: Type.Optional(
      stringEnum(["person", "time"], {
        description: "Who says that an implausible answer is true.",
      }),
    ),
    items: list(item, "The worst class first, in name order within each."),
  },
  "The drift of one cluster.",
);

/** The one source of docs/schemas/drift-v1.schema.json, and of the type of what is printed. */
export const driftDocumentSchema = closed(
  {
    schemaVersion: Type.Literal(driftSchemaVersion, {
      description: "Rises when readers could break; fields may be added without that.",
    }),
    kind: Type.Literal("DriftReport"),
    release: text("The release of capstan that looked."),
    drift: Type.Boolean({
      description: "Whether the command exits with 2, if every cloud answered.",
    }),
    clusters: list(cluster, "In the order in which they were asked for."),
  },
  "What capstan drift --format json prints.",
);

export type ClusterDriftDocument = Static<typeof cluster>;
export type DriftDocument = Static<typeof driftDocumentSchema>;
