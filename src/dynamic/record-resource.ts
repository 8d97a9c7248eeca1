import { sameJson, type JsonObject } from "../api/json.js";
import {
  type DynamicResource,
  type Properties,
  providerProperty,
  providerText,
} from "./protocol.js";

/** The two kinds that carry the transaction in every stack. Architecture section 6. */
export const recordKinds = ["Transaction", "Revision"] as const;
export type RecordKind = (typeof recordKinds)[number];

/** Input that holds the compressed graph: a secret, and in inputs only, since state is written twice. */
export const payloadProperty = "payload";

/**
 * A resource without a cloud: what is registered is what is recorded. Its outputs are its inputs
 * without the payload, whose digest they carry.
 */
export class RecordResource implements DynamicResource {
  constructor(private readonly kind: RecordKind) {}

  async check(_olds: Properties, news: Properties) {
    return { inputs: news, failures: [] };
  }

  async diff(_id: string, olds: Properties, news: Properties) {
    const before = withoutPayload(olds);
    const after = withoutPayload(news);
    const paths = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
      (key) => !sameJson(before[key], after[key]),
    );
    return { changes: paths.length > 0, paths };
  }

  async create(inputs: Properties) {
    return {
      id: `${this.kind.toLowerCase()}-${String(inputs["clusterUid"])}`,
      outs: this.outputs(inputs),
    };
  }

  async read(id: string, props: Properties) {
    return { id, props };
  }

  async update(_id: string, _olds: Properties, news: Properties) {
    return { outs: this.outputs(news) };
  }

  async delete() {}

  private outputs(inputs: Properties): Properties {
    return { ...withoutPayload(inputs), [providerProperty]: providerText(this.kind) };
  }
}

function withoutPayload(properties: Properties): JsonObject {
  return Object.fromEntries(
    Object.entries(properties).filter(
      ([key]) => key !== payloadProperty && key !== providerProperty,
    ),
  );
}
