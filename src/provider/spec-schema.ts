import type { TSchema } from "typebox";
import type { IgnorableField, InitialFields, MachineOffers } from "../api/provider-specs.js";

/** A kind of object that users put into providerSpec.value. */
export interface SpecDefinition {
  /** E.g. "FolderMachineProviderSpec". */
  readonly kind: string;
  /**
   * JSON Schema of its fields, written out or made with typebox. `apiVersion` and `kind` are added,
   * and unknown fields are refused unless it says otherwise. Each field's `default` is filled in,
   * its `description` shown by `capstan explain`.
   */
  readonly schema: TSchema;
}

/** What a provider calls its own object of a Machine. */
export interface MachineSpecDefinition extends SpecDefinition {
  /** What it has for the fields that all Machines share. It is asked nothing without. */
  /** What `capstan init` writes into fields that have no default, by what a machine is. Nothing without. */
  readonly initial?: InitialFields;
  readonly offers?: MachineOffers;
  /** Shared fields that have no effect on it: who sets one is warned. "roles": whether a member takes pods. */
  readonly ignores?: readonly IgnorableField[];
}

/** What a provider calls its own object of a Cluster. */
export interface ClusterSpecDefinition extends SpecDefinition {
  /** Fields with an address range of the hosts' networks: none may overlap Services or Pods. */
  readonly networks?: readonly string[];
  /** What the environment of a command says of fields that have to be written: `capstan init` writes it. Nothing without. */
  readonly fromEnvironment?: Readonly<Record<string, string>>;
}

interface ObjectSchema {
  readonly properties?: Readonly<Record<string, TSchema>>;
  readonly required?: readonly string[];
}

interface OpenSchema {
  readonly additionalProperties?: unknown;
  readonly patternProperties?: unknown;
}

/**
 * The complete schema of a provider's object. Fields keep their order, behind apiVersion and kind; `further` ones
 * come last.
 */
export function specSchema(
  apiVersion: string,
  { kind, schema }: SpecDefinition,
  further: Readonly<Record<string, TSchema>> = {},
): TSchema {
  const { properties = {}, required = [], ...rest }: ObjectSchema = schema;
  const { apiVersion: _apiVersion, kind: _kind, ...fields } = properties;
  const complete = {
    additionalProperties: false,
    ...rest,
    type: "object",
    properties: {
      apiVersion: { type: "string", const: apiVersion },
      kind: { type: "string", const: kind },
      ...fields,
      ...further,
    },
    required: [...new Set(["apiVersion", "kind", ...required])],
  };
  return complete;
}

/** Whether objects may have fields that their schema does not name. Pure. */
export function isOpenSchema(schema: TSchema): boolean {
  const { additionalProperties = false, patternProperties }: OpenSchema = schema;
  return additionalProperties !== false || patternProperties !== undefined;
}

/** The fields of a provider's object without apiVersion and kind, in the schema's order. */
export function fieldsOf(schema: TSchema): string[] {
  const { properties = {} }: ObjectSchema = schema;
  return Object.keys(properties).filter((field) => field !== "apiVersion" && field !== "kind");
}
