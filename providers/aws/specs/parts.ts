import { Type } from "typebox";
import { closed } from "../../../src/api/schema-parts.js";

/** Filters as the Describe calls of EC2 take them. */
export const filters = Type.Array(
  closed(
    {
      name: Type.String({ minLength: 1, description: "As EC2 calls it: tag:Name, vpc-id." }),
      values: Type.Array(Type.String(), { minItems: 1, description: "One of them has to match." }),
    },
    "A filter of EC2.",
  ),
  { minItems: 1, description: "Filters of EC2." },
);

/** A resource that is there, by its id or by filters that find exactly one. */
export function reference(description: string) {
  return closed(
    {
      id: Type.Optional(Type.String({ minLength: 1, description: "Its id." })),
      filters: Type.Optional(filters),
    },
    `${description} By its id, or by filters that find exactly one.`,
    { minProperties: 1, maxProperties: 1 },
  );
}

/** What every resource bears for Capstan, and for controllers in the cluster, is not for users to set. */
const freeTag = "^(?!Name$|capstan:|aws:|kubernetes\\.io/(cluster|role)/).{1,128}$";

/** Tags of a user's own. */
export const tags = Type.Record(
  Type.String({ pattern: freeTag }),
  Type.String({ maxLength: 256 }),
  {
    additionalProperties: false,
    maxProperties: 30,
    description:
      "Tags beside ours. Name, and what begins with capstan:, aws:, kubernetes.io/cluster/ or kubernetes.io/role/, is not yours to set. Change in place.",
  },
);

/** A range of addresses, e.g. 10.0.0.0/16. */
export function range(description: string) {
  return Type.String({ pattern: "^(\\d{1,3}\\.){3}\\d{1,3}/\\d{1,2}$", description });
}
