import type { JsonObject } from "../api/json.js";

/** Module and name prefix of every resource type that the stock dynamic host serves for us. */
const dynamicModule = "pulumi-nodejs:dynamic/capstan";

/** The property under which Pulumi's dynamic host finds the code of a resource's provider. */
export const providerProperty = "__provider";

/** The output that says in which cloud a resource is; absent where the provider cannot tell. */
export const cloudProperty = "cloud";

/** The output that says that the last look at a resource has shown it as failed or stopped; absent of all others. */
export const phaseProperty = "phase";

/** Pulumi's type token of a resource kind. */
export function typeTokenOf(kind: string): string {
  return `${dynamicModule}:${kind}`;
}

/** The kind in a type token of ours, or undefined for any other token. */
export function kindOfToken(token: string): string | undefined {
  return token.startsWith(`${dynamicModule}:`) ? token.slice(dynamicModule.length + 1) : undefined;
}

/**
 * The constant program text that goes into state in the place of a serialised closure: it only loads
 * the installed package, so a new release serves old resources too. Architecture rule 5.1.
 */
export function providerText(kind: string): string {
  return (
    'exports.handler = () => require("node:module").createRequire(process.cwd() + "/")' +
    `("capstan/dynamic").handler(${JSON.stringify(kind)});`
  );
}

/** Properties as they cross the wire: plain JSON, secrets already unwrapped by the engine. */
export type Properties = JsonObject;

/** True of a resource that outlives its host: whoever deletes it takes its marks off instead. Absent of all others. */
export const keepProperty = "keep";

/** Whether a resource of these inputs or outputs outlives its host. Pure. */
export function isKept(properties: Properties): boolean {
  return properties[keepProperty] === true;
}

interface CheckFailure {
  readonly property: string;
  readonly reason: string;
}

interface DiffResult {
  readonly changes: boolean;
  /** Property paths that change; only our own server can pass them on. */
  readonly paths: readonly string[];
}

/**
 * A resource as Pulumi's dynamic host drives it. Inputs and outputs are whole property bags.
 * `read` answers an empty object only for "certainly gone" and throws when it cannot tell.
 */
export interface DynamicResource {
  check(
    olds: Properties,
    news: Properties,
  ): Promise<{ inputs: Properties; failures: CheckFailure[] }>;
  diff(id: string, olds: Properties, news: Properties): Promise<DiffResult>;
  create(inputs: Properties): Promise<{ id: string; outs: Properties }>;
  read(
    id: string,
    props: Properties,
  ): Promise<{ id?: string; props?: Properties; inputs?: Properties }>;
  update(id: string, olds: Properties, news: Properties): Promise<{ outs: Properties }>;
  delete(id: string, props: Properties): Promise<void>;
}

/**
 * Thrown when the cloud holds the resource but it is not finished: Pulumi then records id and
 * properties instead of forgetting it, and the next update resumes. Architecture rule 5.3.
 */
export class UnfinishedResource extends Error {
  readonly reasons: readonly string[];

  constructor(
    readonly id: string,
    readonly properties: Properties,
    readonly reason: unknown,
  ) {
    super(reason instanceof Error ? reason.message : String(reason), { cause: reason });
    this.name = "UnfinishedResource";
    this.reasons = [this.message];
  }
}
