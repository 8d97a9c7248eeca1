// Images and key pairs.

import { createHash } from "node:crypto";
import { ApiError } from "../protocol/api-error.js";
import { type Wire, wireTime } from "../protocol/xml.js";
import { type Handler, newId, type Scope } from "../model/scope.js";
import type { ImageRow, KeyPairRow } from "../model/tables.js";
import { mustGet, notFound } from "./kinds.js";
import { describeRows, type Filters, rowsOf } from "./listing.js";
import { tagSet, tagsOfNew } from "./tagging.js";

/** Who publishes images: Canonical, Amazon, and Cluster API's provider for AWS, of today and of its v1alpha1. */
const owners = {
  canonical: "099720109477",
  amazon: "137112412989",
  capa: "819546954734",
  oldCapa: "258751437250",
};

const published: readonly (readonly [keyof typeof owners, string, string])[] = [
  ["canonical", "ubuntu/images/hvm-ssd-gp3/ubuntu-noble-24.04-amd64-server-20261001", "2026-10-01"],
  ["canonical", "ubuntu/images/hvm-ssd-gp3/ubuntu-noble-24.04-amd64-server-20261105", "2026-11-05"],
  ["canonical", "ubuntu/images/hvm-ssd-gp3/ubuntu-noble-24.04-arm64-server-20261105", "2026-11-05"],
  [
    "canonical",
    "ubuntu/images/hvm-ssd-gp3/ubuntu-resolute-26.04-amd64-server-20261106",
    "2026-11-06",
  ],
  [
    "canonical",
    "ubuntu/images/hvm-ssd-gp3/ubuntu-resolute-26.04-arm64-server-20261106",
    "2026-11-06",
  ],
  ["amazon", "al2023-ami-2023.9.20261102.0-kernel-6.12-x86_64", "2026-11-02"],
  ["amazon", "al2023-ami-2023.9.20261102.0-kernel-6.12-arm64", "2026-11-02"],
  ["capa", "capa-ami-ubuntu-24.04-v1.34.2-1762000000", "2026-11-01"],
  ["capa", "capa-ami-ubuntu-24.04-v1.35.0-1763000000", "2026-11-12"],
  ["oldCapa", "capa-ami-ubuntu-18.04-1.14.4-00-1561926072", "2019-06-30"],
  ["oldCapa", "capa-ami-ubuntu-18.04-1.15.0-00-1561932000", "2019-06-30"],
];

/** Images that every account of a region sees. Their ids come from their names, so that they are the same each time. */
export function publicImages(region: string): ImageRow[] {
  return published.map(([owner, name, day]) => ({
    id: `ami-${createHash("sha256").update(`${region}/${name}`).digest("hex").slice(0, 17)}`,
    tags: {},
    name,
    description: name,
    ownerId: owners[owner],
    architecture: name.includes("arm64") ? "arm64" : "x86_64",
    createdAtMs: Date.parse(`${day}T00:00:00Z`),
    rootDevice: owner === "amazon" ? "/dev/xvda" : "/dev/sda1",
    rootGib: 8,
  }));
}

const describeImages: Handler = (scope, params) => {
  params.ignore("ExecutableBy", "IncludeDeprecated", "IncludeDisabled");
  const wanted = params.texts("Owner");
  const ids = params.texts("ImageId");
  const rows = rowsOf(scope, "images", ids).filter(
    ({ ownerId }) => wanted.length === 0 || wanted.some((owner) => isOwner(owner, ownerId, scope)),
  );
  return describeRows(scope, params, rows, {
    set: "imagesSet",
    filters: imageFilters,
    wire: imageWire,
  });
};

function isOwner(asked: string, ownerId: string, { account }: Scope): boolean {
  if (asked === "self") return ownerId === account;
  if (asked === "amazon") return ownerId === owners.amazon;
  return asked === ownerId;
}

const imageFilters: Filters<ImageRow> = {
  "image-id": ({ id }) => [id],
  name: ({ name }) => [name],
  description: ({ description }) => [description],
  "owner-id": ({ ownerId }) => [ownerId],
  architecture: ({ architecture }) => [architecture],
  state: () => ["available"],
  "image-type": () => ["machine"],
  "is-public": ({ ownerId }, { account }) => [String(ownerId !== account)],
  "root-device-type": () => ["ebs"],
  "virtualization-type": () => ["hvm"],
  hypervisor: () => ["xen"],
  "creation-date": ({ createdAtMs }) => [wireTime(createdAtMs)],
};

function imageWire(row: ImageRow, { account }: Scope): Wire {
  const { id, name, description, ownerId, architecture, createdAtMs, rootDevice, rootGib, tags } =
    row;
  const snapshotId = `snap-${id.slice("ami-".length)}`;
  return {
    imageId: id,
    imageLocation: `${ownerId}/${name}`,
    imageState: "available",
    imageOwnerId: ownerId,
    creationDate: wireTime(createdAtMs),
    isPublic: ownerId !== account,
    architecture,
    imageType: "machine",
    name,
    description,
    rootDeviceType: "ebs",
    rootDeviceName: rootDevice,
    blockDeviceMapping: [
      {
        deviceName: rootDevice,
        ebs: {
          snapshotId,
          volumeSize: rootGib,
          deleteOnTermination: true,
          volumeType: "gp3",
          encrypted: false,
        },
      },
    ],
    virtualizationType: "hvm",
    hypervisor: "xen",
    enaSupport: true,
    sriovNetSupport: "simple",
    platformDetails: "Linux/UNIX",
    usageOperation: "RunInstances",
    tagSet: tagSet(tags),
  };
}

const importKeyPair: Handler = (scope, params) => {
  const name = params.required("KeyName");
  const material = params.required("PublicKeyMaterial");
  if (keyPairNamed(scope, name) !== undefined) {
    throw new ApiError("InvalidKeyPair.Duplicate", `The keypair '${name}' already exists.`);
  }
  const digest = createHash("md5").update(Buffer.from(material, "base64")).digest("hex");
  const row: KeyPairRow = {
    id: newId(scope, "key"),
    tags: tagsOfNew(scope, params, "keyPairs"),
    name,
    fingerprint: (digest.match(/../g) ?? []).join(":"),
    createdAtMs: scope.nowMs,
  };
  scope.db.put("keyPairs", row);
  return keyPairWire(row);
};

const deleteKeyPair: Handler = (scope, params) => {
  const [name, id] = [params.text("KeyName"), params.text("KeyPairId")];
  const row = id === undefined ? keyPairNamed(scope, name ?? "") : mustGet(scope, "keyPairs", id);
  if (row !== undefined) scope.db.remove("keyPairs", row.id);
  return { return: true, keyPairId: row?.id };
};

const describeKeyPairs: Handler = (scope, params) => {
  params.ignore("IncludePublicKey");
  const named = params.texts("KeyName").map((name) => mustHaveKeyPair(scope, name).id);
  const rows = rowsOf(scope, "keyPairs", [...params.texts("KeyPairId"), ...named]);
  return describeRows(scope, params, rows, {
    set: "keySet",
    filters: {
      "key-name": ({ name }) => [name],
      "key-pair-id": ({ id }) => [id],
      fingerprint: ({ fingerprint }) => [fingerprint],
    },
    wire: (row) => ({ ...keyPairWire(row), keyType: "rsa", createTime: wireTime(row.createdAtMs) }),
  });
};

/** Throws InvalidKeyPair.NotFound. */
export function mustHaveKeyPair(scope: Scope, name: string): KeyPairRow {
  const row = keyPairNamed(scope, name);
  if (row === undefined) throw notFound("keyPairs", name);
  return row;
}

function keyPairNamed({ db }: Scope, name: string): KeyPairRow | undefined {
  return db.all("keyPairs").find((row) => row.name === name);
}

function keyPairWire({ id, name, fingerprint, tags }: KeyPairRow) {
  return { keyPairId: id, keyName: name, keyFingerprint: fingerprint, tagSet: tagSet(tags) };
}

export const imageLooks = { DescribeImages: describeImages, DescribeKeyPairs: describeKeyPairs };
export const imageChanges = { ImportKeyPair: importKeyPair, DeleteKeyPair: deleteKeyPair };
