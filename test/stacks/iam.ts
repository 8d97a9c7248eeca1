// As much of IAM's evaluation as the foundation's policies use. Source: IAM User Guide, "Policy evaluation logic".

interface Statement {
  readonly Effect: string;
  readonly Action: string | readonly string[];
  readonly Resource: string | readonly string[];
  readonly Condition?: Readonly<
    Record<string, Readonly<Record<string, string | readonly string[]>>>
  >;
}

/** A request that AWS asks IAM about: once for each resource that a call needs. */
export interface IamRequest {
  readonly action: string;
  readonly arn: string;
  /** Keys of conditions with their values. */
  readonly facts?: Readonly<Record<string, string>>;
}

export function statementsIn(document: string): Statement[] {
  return (JSON.parse(document) as { Statement: Statement[] }).Statement;
}

/** Whether one of some policies allows it. */
export function isAllowed(documents: readonly string[], request: IamRequest): boolean {
  const fitting = documents.flatMap(statementsIn).filter((one) => fits(one, request));
  return fitting.length > 0 && fitting.every(({ Effect }) => Effect === "Allow");
}

function fits({ Action, Resource, Condition = {} }: Statement, request: IamRequest): boolean {
  const { action, arn, facts = {} } = request;
  return (
    listOf(Action).includes(action) &&
    listOf(Resource).some((pattern) => matches(pattern, arn)) &&
    Object.entries(Condition).every(([operator, keys]) =>
      Object.entries(keys).every(([key, wanted]) => holds(operator, facts[key], listOf(wanted))),
    )
  );
}

function holds(operator: string, fact: string | undefined, wanted: readonly string[]): boolean {
  if (operator === "Null") return wanted.includes(String(fact === undefined));
  if (operator === "StringEquals") return fact !== undefined && wanted.includes(fact);
  throw new Error(`${operator} is not known here`);
}

function matches(pattern: string, arn: string): boolean {
  const parts = pattern.split("*").map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`).test(arn);
}

export function listOf(value: string | readonly string[]): readonly string[] {
  return typeof value === "string" ? [value] : value;
}
