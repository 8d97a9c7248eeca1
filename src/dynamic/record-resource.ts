import { type Json, sameJson, type JsonObject } from "../api/json.js";
import {
  cloudProperty,
  type DynamicResource,
  type Properties,
  providerProperty,
  providerText,
} from "./protocol.js";

/** The two kinds that carry the transaction in every stack. Architecture section 6. */
export const recordKinds = ["Transaction", "Revision"] as const;
export type RecordKind = (typeof recordKinds)[number];

/** Input that holds the compressed graph: a secret, and in inputs only, since state is written twice. */
const payloadProperty = "payload";

/**
 * A resource without a cloud: what is registered is what is recorded. Its outputs are its inputs
 * without the payload, whose digest they carry.
 */
export class RecordResource implements DynamicResource {
  /** `compare` throws WRONG_CLOUD for a record whose cluster is in another cloud than the one that answers. */
  constructor(
    private readonly kind: RecordKind,
    private readonly compare: (provider: string, cloud: Json) => Promise<unknown> = nothing,
  ) {}

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

  /** It goes before everything that it is a record of: not while nobody can tell what becomes of that. */
  async delete(_id: string, props: Properties): Promise<void> {
    const cloud = props[cloudProperty];
    if (cloud !== undefined) await this.compare(String(props["provider"]), cloud);
  }

  private outputs(inputs: Properties): Properties {
    return { ...withoutPayload(inputs), [providerProperty]: providerText(this.kind) };
  }
}

const nothing = () => Promise.resolve();

function withoutPayload(properties: Properties): JsonObject {
  return Object.fromEntries(
    Object.entries(properties).filter(
      ([key]) => key !== payloadProperty && key !== providerProperty,
    ),
  );
}
