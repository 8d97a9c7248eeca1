import { invalidValue } from "../protocol/api-error.js";
import type { Params } from "../protocol/params.js";
import type { MetadataOptions } from "../model/tables.js";

const standard: MetadataOptions = {
  httpTokens: "optional",
  httpPutResponseHopLimit: 1,
  httpEndpoint: "enabled",
  httpProtocolIpv6: "disabled",
  instanceMetadataTags: "disabled",
};

/** How an instance answers for its own metadata: what the call says, and otherwise what it was before. */
export function metadataOf(asked: Params | undefined, before = standard): MetadataOptions {
  if (asked === undefined) return before;
  const word = (name: string, words: readonly string[], otherwise: string) => {
    const value = asked.text(name) ?? otherwise;
    if (words.includes(value)) return value;
    throw invalidValue(`Value (${value}) for parameter ${name} is invalid.`);
  };
  const switched = ["enabled", "disabled"];
  const hops = asked.number("HttpPutResponseHopLimit") ?? before.httpPutResponseHopLimit;
  if (hops < 1 || hops > 64) throw invalidValue("HttpPutResponseHopLimit must be from 1 to 64");
  return {
    httpTokens: word("HttpTokens", ["optional", "required"], before.httpTokens),
    httpPutResponseHopLimit: hops,
    httpEndpoint: word("HttpEndpoint", switched, before.httpEndpoint),
    httpProtocolIpv6: word("HttpProtocolIpv6", switched, before.httpProtocolIpv6),
    instanceMetadataTags: word("InstanceMetadataTags", switched, before.instanceMetadataTags),
  };
}
