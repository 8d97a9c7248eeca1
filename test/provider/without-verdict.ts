// What the suite cannot say of the subjects that it is tried on.

/** Of clouds whose resources are not known by names, and whose changes are over at once. */
const noNamesNorOperations = {
  "reports a forgotten operation as over": "notOffered",
  "leaves another owner's resource of the same name alone": "notOffered",
  "does not take an incomplete answer for a complete one": "notOffered",
  "loses no change to a concurrent one": "notOffered",
  "answers an update and a removal once the cloud has accepted them": "notOffered",
} as const;

/** What cannot be shown of a folder, and what the example does not have. */
const notOfFolder = {
  "answers many where several bear the same marks": "notChecked",
  "gives up at once when it is interrupted while the cloud does not answer": "notChecked",
  "tells which cloud it is, the same each time, or nothing at all": "notOffered",
  "reports a removal that the cloud refuses after it has accepted it": "notOffered",
  "tells what became of what its cloud has accepted, or makes at once": "notOffered",
  "looks up the same as long as nothing changes, and only reads": "notOffered",
  "makes another host where there is no room for the one that is asked for, or cannot":
    "notOffered",
  ...noNamesNorOperations,
  "lists and finds hosts in every failure domain": "notOffered",
} as const;
const noImport = {
  "lets go of what it made, or cannot": "notOffered",
  "finds a host by its id alone, whosever it is, or cannot": "notOffered",
  "puts marks on what bears none, and nothing else, or cannot": "notOffered",
  "reads what is not ours without changing it, or cannot": "notOffered",
} as const;
const oneVersion = { "converts what is written in its older versions": "notOffered" } as const;
const noSecrets = {
  "keeps what its secret fields hold out of all else that it shows": "notOffered",
} as const;
const noUpdate = {
  "makes a change in place, all of it, and shows it": "notOffered",
  "finishes a change in place that was killed, toward what was wanted and back": "notOffered",
} as const;
const noUserData = {
  "says what its hosts take at their first start, or nothing": "notOffered",
} as const;

const ofLocal = {
  ...oneVersion,
  ...noSecrets,
  ...noNamesNorOperations,
} as const;

/** By subject of conformance.test.ts, the cases that have no verdict: the others have to pass. */
export const withoutVerdict: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  local: ofLocal,
  "local with hosts that are stopped to be changed": ofLocal,
  "examples/provider-minimal": {
    ...notOfFolder,
    ...noSecrets,
    ...noUpdate,
    ...noImport,
    ...oneVersion,
    ...noUserData,
  },
  "examples/provider-minimal with an update": {
    ...notOfFolder,
    ...noSecrets,
    ...noImport,
    ...oneVersion,
    ...noUserData,
  },
  "examples/provider-minimal with fields that its cloud cannot show": {
    ...notOfFolder,
    ...noSecrets,
    ...noImport,
    ...oneVersion,
    ...noUserData,
  },
  "examples/provider-minimal with an import": {
    ...notOfFolder,
    ...noSecrets,
    ...noUpdate,
    ...oneVersion,
    ...noUserData,
  },
  "examples/provider-minimal with user data": {
    ...notOfFolder,
    ...noSecrets,
    ...noUpdate,
    ...noImport,
    ...oneVersion,
  },
  "examples/provider-minimal with an older version": {
    ...notOfFolder,
    ...noSecrets,
    ...noUpdate,
    ...noImport,
    ...noUserData,
  },
};
