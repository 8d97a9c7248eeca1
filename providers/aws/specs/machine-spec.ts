import { type Static, Type } from "typebox";
import { closed, stringEnum } from "../../../src/api/schema-parts.js";
import { filters, reference, tags } from "./parts.js";

const volumeTypes = ["gp3", "gp2", "io1", "io2", "st1", "sc1", "standard"] as const;

const performance = {
  type: Type.Optional(stringEnum(volumeTypes, { description: "Type of volume; gp3 without." })),
  iops: Type.Optional(Type.Integer({ minimum: 100, description: "Operations per second." })),
  throughput: Type.Optional(Type.Integer({ minimum: 125, description: "MiB per second, of gp3." })),
  kmsKeyId: Type.Optional(
    Type.String({
      minLength: 1,
      description: "Key that encrypts it; that of the account without.",
    }),
  ),
};

const rootVolume = closed(
  {
    gib: Type.Integer({ minimum: 8, default: 20, description: "Size in GiB." }),
    ...performance,
    encrypted: Type.Optional(
      Type.Boolean({ description: "Whether it is encrypted; it is without." }),
    ),
  },
  "The volume that the instance boots from. Changing it needs a new instance.",
);

const dataVolume = closed(
  {
    name: Type.String({
      pattern: "^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$",
      description: "Unique on its machine, and the same for ever.",
    }),
    device: Type.String({
      pattern: "^/dev/(sd[f-p]|xvd[f-p])$",
      description: "Device that it is attached as, /dev/sdf to /dev/sdp.",
    }),
    gib: Type.Integer({
      minimum: 1,
      description: "Size in GiB. Grows in place; a smaller one needs a new volume.",
    }),
    ...performance,
    encrypted: Type.Optional(
      Type.Boolean({ description: "Whether it is encrypted; it is without." }),
    ),
    whenHostGoes: Type.Optional(
      stringEnum(["delete", "keep"], {
        description: "What becomes of it when its host goes; delete without.",
      }),
    ),
  },
  "A volume beside the one that the instance boots from.",
);

const metadata = closed(
  {
    httpTokens: Type.Optional(
      stringEnum(["required", "optional"], {
        description: "Whether the metadata service wants tokens (IMDSv2); required without.",
      }),
    ),
    hopLimit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 64,
        description: "How far its answers go: 2 reaches pods; 1 without.",
      }),
    ),
  },
  "The instance's metadata service.",
);

const placement = closed(
  {
    group: Type.Optional(Type.String({ minLength: 1, description: "Name of a placement group." })),
    tenancy: Type.Optional(
      stringEnum(["default", "dedicated"], { description: "default without." }),
    ),
  },
  "Where in its zone the instance runs. Changing it needs a new instance.",
);

const alternative = closed(
  {
    instanceType: Type.Optional(
      Type.String({
        pattern: "^[a-z0-9-]+\\.[a-z0-9-]+$",
        description: "Another type, of the same architecture; the Machine's without.",
      }),
    ),
    zone: Type.Optional(
      Type.String({
        minLength: 1,
        description:
          "Another zone, in which the cluster has a subnet; the Machine's without. Not with subnet.",
      }),
    ),
  },
  "Another type, another zone, or both.",
  { minProperties: 1 },
);

/** Fields of a Machine's object, in the storage version; `kubeadm` and `bootstrap` are added to them. */
export const awsMachineSpec = Type.Object(
  {
    instanceType: Type.String({
      pattern: "^[a-z0-9-]+\\.[a-z0-9-]+$",
      default: "t3.medium",
      description: "What it runs on. Changing it needs a new instance.",
    }),
    image: Type.Optional(
      Type.Object(
        {
          id: Type.Optional(Type.String({ pattern: "^ami-", description: "Its id." })),
          filters: Type.Optional(filters),
          owner: Type.Optional(
            Type.String({ minLength: 1, description: "Account that it belongs to, with filters." }),
          ),
        },
        {
          additionalProperties: false,
          oneOf: [{ required: ["id"] }, { required: ["filters"] }],
          description:
            "Image that it boots, by id or the newest one that filters find; the newest Ubuntu 24.04 of Canonical without. Looked up once; capstan up --refresh-lookups looks again. Changing it needs a new instance.",
        },
      ),
    ),
    software: Type.Optional(
      stringEnum(["apt", "image"], {
        description:
          "Whether hosts install containerd and Kubernetes, or the image holds them; image where one is named, apt without.",
      }),
    ),
    zone: Type.Optional(
      Type.String({
        minLength: 1,
        description:
          "Availability zone that it runs in; without it, one of the cluster's that Capstan chooses. Changing it needs a new instance.",
      }),
    ),
    subnet: Type.Optional(
      reference(
        "A subnet that is there, instead of the cluster's in its zone. Changing it needs a new instance.",
      ),
    ),
    securityGroups: Type.Optional(
      Type.Array(reference("A security group that is there."), {
        description: "Groups beside those of the cluster. Change in place.",
      }),
    ),
    instanceProfile: Type.Optional(
      Type.String({
        minLength: 1,
        pattern: "^[^:/]+$",
        description:
          "Name of the IAM instance profile that it has, by which the host fetches its keys and its token. Changing it needs a new instance.",
      }),
    ),
    keyName: Type.Optional(
      Type.String({ minLength: 1, description: "SSH key pair. Changing it needs a new instance." }),
    ),
    publicIp: Type.Optional(
      Type.Boolean({
        description:
          "Whether it is in a public subnet with a public address. Changing it needs a new instance.",
      }),
    ),
    sourceDestCheck: Type.Optional(
      Type.Boolean({
        description:
          "Whether EC2 drops packets that are not from or to the host's own address, as with pods that are routed without a tunnel; it does without. Changes in place.",
      }),
    ),
    rootVolume: Type.Optional(rootVolume),
    dataVolumes: Type.Optional(
      Type.Array(dataVolume, { description: "Volumes that live with the machine's host." }),
    ),
    metadata: Type.Optional(metadata),
    spot: Type.Optional(
      closed(
        {
          maxPrice: Type.Optional(
            Type.String({
              pattern: "^\\d+(\\.\\d+)?$",
              description: "USD an hour; the on-demand price without.",
            }),
          ),
        },
        "Spare capacity, which EC2 may take back. Changing it needs a new instance.",
      ),
    ),
    placement: Type.Optional(placement),
    alternatives: Type.Optional(
      Type.Array(alternative, {
        minItems: 1,
        maxItems: 4,
        description:
          "What it may be instead where EC2 has no room, best first. A host that is like one of them stays. Changes in place.",
      }),
    ),
    tags: Type.Optional(tags),
  },
  {
    additionalProperties: false,
    description: "The AWS part of a Machine.",
    // A subnet that is there is in one zone.
    not: {
      description: "alternatives name no zone beside a subnet",
      required: ["subnet", "alternatives"],
      properties: { alternatives: { contains: { required: ["zone"] } } },
    },
  },
);

/** A Machine's object, with the defaults of its schema. */
export type AwsMachine = Static<typeof awsMachineSpec>;
