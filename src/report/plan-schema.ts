import { type ErrorCode, errorCodes } from "../api/error.js";
import { type Static, type TSchema, Type } from "typebox";
import { closed, stringEnum } from "../api/schema-parts.js";
import type { NodeKey } from "../graph/graph.js";

/** Raised when a reader of the document could break; what is only added leaves it. */
export const planSchemaVersion = 1;

const nodeKey = (description: string) =>
  Type.Unsafe<NodeKey>({ type: "string", pattern: "^[^/]+/.+$", description });
const key = nodeKey('"<Kind>/<name>" of a resource.');
const count = (description: string) => Type.Integer({ minimum: 0, description });
const text = (description: string) => Type.String({ description });
const list = <T extends TSchema>(items: T, description: string) =>
  Type.Array(items, { description });

const anyFields = (description: string) =>
  Type.Record(Type.String(), Type.Unknown(), { description });

const fieldChange = closed(
  {
    path: text("Which field of the resource's inputs."),
    from: Type.Optional(Type.Unknown({ description: "The value until now; absent: none." })),
    to: Type.Optional(Type.Unknown({ description: "The value from now on; absent: none." })),
    reason: Type.Optional(text("Why this field makes a new resource necessary.")),
    disruptive: Type.Optional(text("What its change in place disturbs; absent: nothing.")),
  },
  "One field that changes.",
);
const changes = list(fieldChange, "The fields that change; empty for what is created or deleted.");
const input = closed(
  { path: text("Which input."), value: Type.Unknown({ description: "Its value." }) },
  "One input of a new resource.",
);
const inputs = Type.Optional(
  list(
    input,
    "Of what is created, adopted or imported: inputs that people look at first; resources has all of them.",
  ),
);
const reason = text("Why; empty where it goes without saying.");
const starts = Type.Optional(
  Type.Literal(true, { description: "Of a host that stands still: it is started as well." }),
);
const drains = Type.Optional(
  Type.Literal(true, {
    description: "Of a host: its pods move away before it is changed in place.",
  }),
);
const changeKind = stringEnum(
  [
    "same",
    "move",
    "create",
    "adopt",
    "import",
    "update",
    "replace",
    "forget",
    "delete",
    "external",
  ],
  {
    description:
      "What becomes of it. move: only its owner changes; adopt: it is there already and gets a record; import: it was there before, and gets our marks and a record; update: in place; replace: a new one first, then the old one goes; forget: it stays in the cloud and is ours no more; external: it is not ours and stays as it is.",
  },
);

const owner = closed(
  {
    machineSet: text("The set that wants the machine."),
    machineDeployment: Type.Optional(text("The MachineDeployment above the set.")),
    ordinal: count("Counts from 0 within the set."),
  },
  "Where a machine comes from that no user wrote.",
);

const machine = closed(
  {
    machine: text("Name of the Machine."),
    controlPlane: Type.Boolean({ description: "Whether it is a member of the control plane." }),
    owner: Type.Optional(owner),
    movedFrom: Type.Optional(text("The object that it was of before, where that changes.")),
    kind: changeKind,
    supersedes: Type.Optional(text("The machine of an older set whose place it takes.")),
    changes,
    drains,
    inputs,
    alternatives: Type.Optional(
      list(
        list(input, "The inputs in which it differs; null: it has none."),
        "Of a new host: what it may be instead where the cloud has no room, best first; absent: nothing.",
      ),
    ),
    reason,
    host: Type.Optional(nodeKey("The resource that serves it in the end; of a deleted one, did.")),
  },
  "What becomes of one Machine.",
);

const infrastructure = closed(
  { key, kind: changeKind, changes, inputs, reason },
  "What becomes of one resource that machines share.",
);

const leftover = closed(
  {
    does: stringEnum(["remove", "report", "keep"], {
      description: "What becomes of it. report: it stays, and somebody should look at it.",
    }),
    kind: text("What it is, as people of the cloud call it."),
    id: text("As the cloud's calls name it."),
    name: Type.Optional(
      text("What people see in the cloud's console, where that is another text."),
    ),
    by: text("Who has made it."),
    about: Type.Optional(text('What for: "Service default/web"; absent: it does not tell.')),
    blocks: Type.Optional(text("What of the cluster cannot go before it.")),
    holdsData: Type.Optional(
      Type.Literal(true, { description: "Data of the cluster's users goes with it." }),
    ),
    reason,
  },
  "Something that a controller in the cluster has made.",
);

const step = Type.Union(
  [
    closed({ kind: Type.Literal("create"), key, reason }, "Makes a resource."),
    closed(
      { kind: Type.Literal("adopt"), key, reason },
      "Gives a resource that the cloud holds a record; nothing is made or changed.",
    ),
    closed(
      { kind: Type.Literal("import"), key, reason },
      "Gives a host that was there before our marks and a record; nothing else of it is changed.",
    ),
    closed(
      { kind: Type.Literal("update"), key, changes, reason, drains, starts },
      "Changes one in place.",
    ),
    closed(
      {
        kind: Type.Literal("delete"),
        key,
        reason,
        letGo: Type.Optional(
          Type.Literal(true, { description: "Only its marks go; it stays in the cloud." }),
        ),
      },
      "Deletes one, or lets it go.",
    ),
  ],
  { description: "What is done to one resource." },
);

const undo = closed(
  {
    key,
    step: stringEnum(["adopt", "create", "import", "update", "delete"], {
      description: "The kind of the step.",
    }),
    class: stringEnum(["reversible", "compensable", "pointOfNoReturn"], {
      description: "Taken back exactly; by making something new; or not at all.",
    }),
    reason,
  },
  "How one step can be taken back.",
);

const wave = closed(
  { keys: list(key, "What changes in it."), reason: text("Why then.") },
  "What is changed together, before anything of the next wave.",
);

const resource = closed(
  {
    kind: text("Kind of the resource, e.g. LocalHost."),
    name: text("Its name in the graph."),
    spec: Type.Record(Type.String(), Type.Unknown(), {
      description: 'Its inputs. {"$ref", "output"} stands for what another resource will give.',
    }),
  },
  "A resource that there will be.",
);

const abandoned = closed(
  {
    id: text("The cloud's name for it."),
    who: closed(
      {
        cluster: text("<namespace>/<name> of the Cluster that its marks name."),
        clusterUid: text("UID of that Cluster."),
        kind: text("Kind of the resource."),
        name: text("Its name in the graph."),
        token: text("Idempotency token that it was made with."),
      },
      "The marks that it carries.",
    ),
    letGo: Type.Optional(
      Type.Literal(true, { description: "It was there before: only its marks go." }),
    ),
  },
  "Left by an apply that broke off, wanted by nothing: deleted or let go first.",
);

const crossed = closed(
  {
    reason: text("What it is past, e.g. a control plane that is newer already."),
    machine: Type.Optional(text("Name of a Machine that has a newer control plane already.")),
    host: Type.Optional(nodeKey("The host that it was seen on.")),
    version: Type.Optional(text("Version of the control plane that it has already.")),
  },
  "A point of no return that an unfinished transaction is past.",
);

const leaving = closed(
  {
    host: nodeKey("The host."),
    machine: text("Name of the Machine that it serves."),
    controlPlane: Type.Boolean({ description: "Whether that is a member of the control plane." }),
    failed: Type.Boolean({ description: "The cloud says that it never will run." }),
  },
  "A host that the target no longer has.",
);

const versions = (description: string) =>
  Type.Record(Type.String(), Type.Unknown(), { description });

const versionChange = closed(
  {
    unit: text('"Machine cp-0" or "MachineDeployment workers".'),
    from: versions("Until then."),
    to: versions("From then on."),
  },
  "What changes its versions together.",
);

const stage = closed(
  {
    number: count("Counts from 1; stages that the same up has brought about come before it."),
    count: count("Of all stages, those before it included."),
    reason: text("Why this stage is one of its own."),
    later: list(
      closed(
        {
          reason: text("Why that stage is one of its own."),
          changes: list(versionChange, "What changes its versions in it."),
        },
        "A later stage.",
      ),
      "What comes after the commit of this one, each a plan of its own.",
    ),
  },
  "This is one stage of several: a control plane goes one minor version at a time.",
);

const goal = stringEnum(
  ["up", "adopt", "rollback", "destroy", "move", "forget", "import", "rotateKeys", "takeBack"],
  { description: "What was asked for." },
);

const direction = stringEnum(["forward", "back"], {
  description: "To what manifests say, or back to the last revision.",
});

/** Everything that is decided about one cluster; a line of `capstan plan --json` holds the same. */
const clusterPlan = closed(
  {
    cluster: text("<namespace>/<name> of the Cluster."),
    stack: text("Name of its Pulumi stack."),
    provider: text("Who runs the hosts."),
    fromRevision: count("Number of the last committed revision; 0 for none."),
    transaction: closed(
      {
        number: Type.Integer({ minimum: 1, description: "Becomes the number of the revision." }),
        clusterUid: text("UID of the cluster, minted once in its life."),
        direction,
        goal,
      },
      "The transaction that applies the plan.",
    ),
    empty: Type.Boolean({ description: "Nothing to do: objects, state and cloud agree." }),
    summary: text("What plan prints under its tree."),
    undoSummary: text("How far it can be taken back, in a sentence; empty for an empty plan."),
    counts: closed(
      {
        create: count("Resources to create."),
        update: count("Resources to update in place."),
        delete: count("Resources to delete, leftovers included."),
      },
      "Resources by what is done to them; a replaced one is created and deleted.",
    ),
    infrastructure: list(infrastructure, "In the order of the tree."),
    machines: list(machine, "Every Machine there is or will be, by name."),
    steps: list(step, "Creations and updates in the order of dependencies, then deletions."),
    undo: list(undo, "One for each step, in their order."),
    waves: list(wave, "In the order in which they are taken."),
    crossings: list(key, "Hosts with which the transaction crosses its point of no return."),
    crossed: list(crossed, "With what an open transaction is beyond that point already."),
    leaving: list(leaving, "Hosts that are alive and go."),
    stale: list(key, "Records that are read again from the cloud first."),
    resumes: Type.Boolean({ description: "An earlier transaction did not get to its end." }),
    open: Type.Optional(
      closed(
        {
          number: Type.Integer({ minimum: 1, description: "Its number." }),
          direction,
          goal,
          by: text("<user>@<host> who began it."),
          worker: Type.Optional(text("The living process that works on it now.")),
        },
        "That transaction.",
      ),
    ),
    stage: Type.Optional(stage),
    abandoned: list(abandoned, "Leftovers of this cluster."),
    strangers: list(Type.String(), "What else carries the cluster's marks and nobody knows."),
    tolerated: Type.Optional(
      list(
        closed(
          {
            key,
            because: stringEnum(["report", "ignore", "frozen", "overBudget"], {
              description:
                "Its drift policy; or that the cluster's answer is not believed, or that others go first.",
            }),
          },
          "A resource that has drifted and is left as it is.",
        ),
        "Drift that the plan does not touch.",
      ),
    ),
    held: Type.Optional(
      closed(
        {
          reason: text("What is implausible."),
          fingerprint: text("Which answer of the cloud it is; for --thaw."),
          believed: Type.Optional(
            stringEnum(["person", "proven"], {
              description:
                "Why it is believed: a person says so, or it is the recorded cloud. Absent: it is not.",
            }),
          ),
        },
        "What the plan was made from is implausible.",
      ),
    ),
    foreseen: Type.Optional(
      list(
        closed(
          {
            code: stringEnum(Object.keys(errorCodes) as ErrorCode[], {
              description: "What the first call that fails would fail with.",
            }),
            message: text("What stands against the plan."),
            hint: Type.Optional(text("What to do next.")),
            severity: Type.Optional(
              stringEnum(["warning"], {
                description: "It may go well; absent: the plan is not carried out.",
              }),
            ),
          },
          "Something that the provider has looked up before anything is changed.",
        ),
        "What stands against the plan; absent: nothing that is known.",
      ),
    ),
    leftovers: Type.Optional(
      list(
        leftover,
        "Of a destroy: what controllers in the cluster have made, in the order of their removal; absent: nothing was found.",
      ),
    ),
    lookedUp: Type.Optional(
      list(
        closed(
          {
            by: list(Type.String(), "Whose question it is."),
            question: anyFields("What was asked: kind, and the fields that it is about."),
            answer: anyFields("What the provider has answered."),
            before: Type.Optional(anyFields("What was recorded before; absent: nothing.")),
          },
          "An answer that is new, or another one than before.",
        ),
        "What was looked up for this plan; absent: nothing, or what is recorded.",
      ),
    ),
    targetDigest: text("The same for two plans that lead to the same."),
    resources: list(resource, "Everything that there will be."),
  },
  "The plan of one cluster.",
);

/** The one source of docs/schemas/plan-v1.schema.json, and of the type of what is printed. */
export const planDocumentSchema = closed(
  {
    schemaVersion: Type.Literal(planSchemaVersion, {
      description: "Rises when readers could break; fields may be added without that.",
    }),
    kind: Type.Literal("Plan"),
    release: text("The release of capstan that planned."),
    changesPending: Type.Boolean({ description: "Whether the command exits with 2." }),
    counts: closed(
      {
        create: count("Resources to create."),
        update: count("Resources to update in place."),
        delete: count("Resources to delete."),
      },
      "Sums over all clusters that stay.",
    ),
    clusters: list(clusterPlan, "In the order of the manifests."),
    destroyed: list(
      closed(
        { stack: text("Name of its stack."), cluster: text("<namespace>/<name>.") },
        "A cluster that left the manifests.",
      ),
      "To be destroyed, with --prune.",
    ),
  },
  "What capstan plan --format json prints.",
);

export type ClusterPlanDocument = Static<typeof clusterPlan>;
export type PlanDocument = Static<typeof planDocumentSchema>;
