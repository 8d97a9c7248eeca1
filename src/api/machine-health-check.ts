import { Type } from "typebox";
import { matchExpressions } from "./label-requirement.js";
import { selectorRules, unhealthyRangeRules } from "./rules.js";
import { closed, intOrPercent, labelMap, seconds, stringEnum } from "./schema-parts.js";

/** "[3-5]": the least and the most. */
const unhealthyRange = /^\[(\d{1,6})-(\d{1,6})\]$/;

/** The least and the most of "[3-5]"; undefined for any other text. Pure. */
export function parseUnhealthyRange(text: string): readonly [number, number] | undefined {
  const [, least, most] = unhealthyRange.exec(text) ?? [];
  return least === undefined || most === undefined ? undefined : [Number(least), Number(most)];
}

/** As in Cluster API. */
export const defaultNodeStartupTimeoutSeconds = 600;

const unhealthyNodeCondition = closed(
  {
    type: Type.String({
      minLength: 1,
      maxLength: 316,
      description: "Type of a condition of the Node, e.g. Ready.",
    }),
    status: stringEnum(["True", "False", "Unknown"], {
      description: "Status in which the condition is trouble.",
    }),
    timeoutSeconds: seconds("Seconds that the condition may have that status."),
  },
  "A condition of the Node, and how long it may be.",
);

/** Source: docs/cluster-api.md#health-checks. */
export const machineHealthCheckSpec = closed(
  {
    clusterName: Type.String({
      minLength: 1,
      maxLength: 63,
      description: "Name of the Cluster in the same namespace whose Machines are looked at.",
    }),
    selector: closed(
      {
        matchLabels: Type.Optional(labelMap("Labels that a Machine carries.")),
        matchExpressions,
      },
      "Which Machines of the Cluster are looked at, by their labels.",
      selectorRules,
    ),
    checks: Type.Optional(
      closed(
        {
          nodeStartupTimeoutSeconds: Type.Optional(
            seconds(
              "Seconds that a host which runs may be without its Node; default 600, 0: for ever.",
            ),
          ),
          unhealthyNodeConditions: Type.Optional(
            Type.Array(unhealthyNodeCondition, {
              minItems: 1,
              maxItems: 100,
              description: "Each of them makes a Machine unhealthy that lasts longer than it may.",
            }),
          ),
        },
        "What makes a Machine unhealthy. Without it: a host without its Node for 600 seconds.",
      ),
    ),
    remediation: Type.Optional(
      closed(
        {
          triggerIf: Type.Optional(
            closed(
              {
                unhealthyLessThanOrEqualTo: Type.Optional(
                  intOrPercent(
                    "So many Machines may be unhealthy: a number or a percentage such as 40%, rounded down; default 100%.",
                  ),
                ),
                unhealthyInRange: Type.Optional(
                  Type.String({
                    pattern: unhealthyRange.source,
                    description:
                      'At least and at most so many, such as "[3-5]". It counts before unhealthyLessThanOrEqualTo.',
                    ...unhealthyRangeRules,
                  }),
                ),
              },
              "How many may be unhealthy for any of them to be replaced. More may have another cause than their hosts.",
            ),
          ),
        },
        "When unhealthy Machines get new hosts.",
      ),
    ),
  },
  "Which Machines are unhealthy, and when they get new hosts.",
);
