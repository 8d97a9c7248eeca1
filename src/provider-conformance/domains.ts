import { domainOffer } from "../api/failure-domains.js";
import { providerValue } from "../api/types.js";
import { timingOf } from "../provider/timing.js";
import type { Rig } from "./rig.js";
import { checkable, must, offered } from "./subject.js";

/** "lists and finds hosts in every failure domain" */
export async function everyDomain(rig: Rig): Promise<void> {
  const { provider, handler, context } = rig;
  offered(provider.failureDomains !== undefined, "it offers no failure domains");
  const { cluster } = rig.desired({});
  const clusterSpec = { ...providerValue(cluster.spec), ...rig.subject.offering };
  const offer = domainOffer(provider, clusterSpec);
  checkable(offer !== undefined, "the sample's cluster offers no failure domain");
  const { domains, field } = offer;
  if (domains.length === 1) rig.exceptions.push("a second domain: the sample's cluster has one");
  const made = new Map<string, string>();
  const scope = { cluster: "", clusterUid: "" };
  for (const [index, domain] of domains.entries()) {
    const { who, spec } = await rig.prepare(`web-${index}`, { [field]: domain });
    const { id } = await rig.make({ who, spec });
    made.set(id, domain);
    Object.assign(scope, { cluster: who.cluster, clusterUid: who.clusterUid });
    await context.clock.sleep(timingOf(provider).listingLagMs);
    const presence = await handler.locate(context, who);
    must(
      presence.found === "one" && presence.resource.id === id,
      "find by marks or token a host in another failure domain (locate)",
      `${id} is in ${domain}, and it answers ${presence.found}`,
    );
  }
  const listings = [
    ["inventory", await provider.inventory(context, scope)],
    ["owned", await provider.owned?.(context)],
  ] as const;
  for (const [how, listing] of listings) {
    const hosts = (listing ?? []).filter(({ who: { kind } }) => kind === rig.kind);
    const ids = hosts.filter(({ phase }) => phase !== "gone").map(({ id }) => id);
    const missing = [...made].filter(([id]) => !ids.includes(id)).map(([, domain]) => domain);
    must(
      listing === undefined || missing.length === 0,
      `list the hosts of every failure domain (${how})`,
      `it shows none of ${missing.join(", ")}`,
    );
  }
}
