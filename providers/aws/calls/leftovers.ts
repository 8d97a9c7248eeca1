import { CapstanError } from "../../../src/api/error.js";
import { omitUndefined } from "../../../src/api/omit-undefined.js";
import type { CallContext, LeftoverCalls } from "../../../src/provider/port.js";
import {
  type Leftover,
  leftoverName,
  type LeftoverScope,
} from "../../../src/provider/leftovers.js";
import { eachPage } from "./ask.js";
import { type AskEc2, filters } from "./ec2-kind.js";
import type { AskAws } from "./elb-kind.js";
import {
  leftoverKinds,
  type LeftoverKind,
  type LeftoverQuery,
  type LeftoverSight,
} from "./leftover-kinds.js";
import { controllerTags, isOfCluster, makerOf } from "./leftover-owner.js";
import { clusterName, markKey, valueOf } from "./marks.js";

/** What a cluster's controllers have left on AWS, by their tags: see docs/adr/0028. */
export function leftoverCalls(aws: AskAws): LeftoverCalls {
  const { ec2 } = aws;
  const kinds = leftoverKinds(aws);
  return {
    async leftovers(ctx, scope) {
      const found: Leftover[] = [];
      for (const kind of kinds) {
        const place = placeOf(scope, kind);
        if (place.isNowhere) continue;
        const sights = await kind.look(ctx, queryOf(scope, place));
        found.push(...sights.flatMap((sight) => shown(kind, sight, scope) ?? []));
      }
      const doubt = found.some(mayBeAnothers(scope)) ? await namesake(ec2, ctx, scope) : undefined;
      return found.map((one) =>
        doubt !== undefined && mayBeAnothers(scope)(one) ? { ...one, doubt } : one,
      );
    },
    async removeLeftover(ctx, scope, leftover) {
      const kind = kinds.find((one) => one.kind === leftover.kind);
      if (kind === undefined || scope.places === undefined)
        throw notOurs(leftover, "nobody knows whose it is");
      const name = clusterName(scope);
      const [sight] = await kind.look(ctx, { id: leftover.id, name });
      if (sight === undefined) return;
      if (shown(kind, sight, scope) === undefined) {
        throw notOurs(leftover, "its tags or its VPC are not the cluster's any more");
      }
      const doubt = mayBeAnothers(scope)(leftover) ? await namesake(ec2, ctx, scope) : undefined;
      if (doubt !== undefined) throw notOurs(leftover, doubt);
      await kind.remove(ctx, leftover.id, { name, clusterUid: scope.clusterUid });
    },
  };
}

interface Place {
  readonly vpcId?: string;
  readonly isOurs: boolean;
  /** The cluster has no network any more, so nothing is left in it. */
  readonly isNowhere: boolean;
}

function placeOf({ places }: LeftoverScope, { isInVpc }: Pick<LeftoverKind, "isInVpc">): Place {
  if (!isInVpc || places === undefined) return { isOurs: false, isNowhere: false };
  const vpc = places.find(({ kind }) => kind === "AwsVpc");
  if (vpc === undefined) return { isOurs: false, isNowhere: true };
  return { vpcId: vpc.id, isOurs: vpc.isOurs, isNowhere: false };
}

function queryOf(scope: LeftoverScope, { vpcId }: Place): LeftoverQuery {
  return omitUndefined<LeftoverQuery>({ name: clusterName(scope), vpcId });
}

/** As a leftover of this cluster; undefined: it is none. */
function shown(
  { kind, wave, holdsData, isInVpc, keepsVpc }: LeftoverKind,
  sight: LeftoverSight,
  scope: LeftoverScope,
): Leftover | undefined {
  const { vpcId, isOurs, isNowhere } = placeOf(scope, { isInVpc });
  const maker = makerOf(sight);
  if (maker === undefined || sight.goesByItself === true || isNowhere) return undefined;
  if (!isOfCluster(sight.tags, clusterName(scope))) return undefined;
  if (vpcId !== undefined && sight.vpcId !== vpcId) return undefined;
  const { id, name } = sight;
  const blocks = isOurs && keepsVpc === true ? vpcId : undefined;
  return omitUndefined<Leftover>({ kind, id, name, ...maker, blocks, holdsData, wave });
}

/** Only a VPC of its own tells a cluster's things from those of another cluster of its name. */
function mayBeAnothers({ places = [] }: LeftoverScope) {
  const hasOwnVpc = places.some(({ kind, isOurs }) => kind === "AwsVpc" && isOurs);
  return ({ holdsData }: Leftover) => !hasOwnVpc || holdsData === true;
}

/** Who else bears the cluster's name: controllers know no namespaces, and others make clusters too. */
async function namesake(
  ec2: AskEc2,
  ctx: CallContext,
  scope: LeftoverScope,
): Promise<string | undefined> {
  const Filters = filters({
    [`tag:${controllerTags.cluster(clusterName(scope))}`]: ["owned"],
    "instance-state-name": ["pending", "running", "stopping", "stopped"],
  });
  const pages = eachPage(async (NextToken) => {
    const answer = await ec2(ctx, "DescribeInstances", (client, options) =>
      client.describeInstances({ Filters, NextToken }, options),
    );
    return { items: answer.Reservations ?? [], next: answer.NextToken };
  });
  for await (const { items } of pages) {
    const other = items
      .flatMap(({ Instances = [] }) => Instances)
      .find(({ Tags = [] }) => valueOf(Tags, markKey("clusterUid")) !== scope.clusterUid);
    if (other === undefined) continue;
    const cluster = valueOf(other.Tags ?? [], markKey("cluster")) ?? "another cluster";
    return `instance ${other.InstanceId ?? ""} of ${cluster} bears the same name in its tags`;
  }
  return undefined;
}

/** Law 5. */
function notOurs(leftover: Leftover, why: string): CapstanError {
  return new CapstanError({
    code: "NOT_OURS",
    source: "cloud",
    subject: leftover.id,
    message: `${leftoverName(leftover)} is left alone: ${why}`,
  });
}
