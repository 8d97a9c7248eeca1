import { Type } from "typebox";
import { matchExpressions } from "./label-requirement.js";
import { drainRules } from "./rules.js";
import { closed, labelMap, maxInt32, stringEnum } from "./schema-parts.js";

/** As Cluster API bounds them. */
const mostSelectors = 32;

/** One that is there selects something by it: an empty one would select everything, which is said by leaving it out. */
function selectorOf(what: string) {
  return Type.Optional(
    closed(
      {
        matchLabels: Type.Optional(labelMap(`Labels that ${what} carries.`)),
        matchExpressions,
      },
      `Which of them by the labels of ${what}; all of them without.`,
    ),
  );
}

/** Source: docs/cluster-api.md#drain-rules. */
export const machineDrainRuleSpec = closed(
  {
    drain: closed(
      {
        behavior: stringEnum(["Drain", "Skip", "WaitCompleted"], {
          description:
            "What is done with the pods: evicted; left on the Node until its host goes; or waited for until they have ended by themselves.",
        }),
        order: Type.Optional(
          Type.Integer({
            minimum: -maxInt32 - 1,
            maximum: maxInt32,
            description:
              "Pods of a lower order are gone before others are evicted; 0 without. With behavior Drain alone.",
          }),
        ),
      },
      "What is done with the pods.",
      drainRules.drain,
    ),
    machines: Type.Optional(
      Type.Array(
        closed(
          { selector: selectorOf("a Machine"), clusterSelector: selectorOf("its Cluster") },
          "Machines that match both selectors.",
          drainRules.machines,
        ),
        {
          minItems: 1,
          maxItems: mostSelectors,
          description:
            "Machines that the rule is for: those of any entry; all of the namespace without.",
        },
      ),
    ),
    pods: Type.Optional(
      Type.Array(
        closed(
          { selector: selectorOf("a pod"), namespaceSelector: selectorOf("its namespace") },
          "Pods that match both selectors.",
          drainRules.pods,
        ),
        {
          minItems: 1,
          maxItems: mostSelectors,
          description: "Pods that the rule is for: those of any entry; all without.",
        },
      ),
    ),
  },
  "Which pods of which Machines, and what is done with them. The first rule by name that fits a pod decides.",
);
