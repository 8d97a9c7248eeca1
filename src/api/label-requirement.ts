import { Type } from "typebox";
import { maxLabelLength } from "./name-forms.js";
import { closed, stringEnum } from "./schema-parts.js";

/** One requirement of a selector. */
export const requirement = closed(
  {
    key: Type.String({
      minLength: 1,
      maxLength: 317,
      description: "Label that the requirement is about.",
    }),
    operator: stringEnum(["In", "NotIn", "Exists", "DoesNotExist"], {
      description: "How the label is compared.",
    }),
    values: Type.Optional(
      Type.Array(Type.String({ maxLength: maxLabelLength }), {
        maxItems: 32,
        description: "Values for In and NotIn; none for the others.",
      }),
    ),
  },
  "One requirement on labels.",
);

export const matchExpressions = Type.Optional(
  Type.Array(requirement, { maxItems: 16, description: "Requirements that all have to hold." }),
);
