import type { MachineCalls } from "../../../src/provider/definition.js";
import type { CallContext, Observed } from "../../../src/provider/port.js";
import { eachPage } from "./ask.js";
import { type AskEc2, filters } from "./ec2-kind.js";

/**
 * From the notice of an interruption until EC2 takes a spot instance back, milliseconds. Source: EC2 user guide, "Spot
 * Instance interruption notices".
 */
const spotNoticeMs = 120_000;

/** Codes of spot requests whose instance is about to go. Source: EC2 user guide, "Spot request status". */
const marked = ["marked-for-termination", "marked-for-stop"];

/**
 * Scheduled events after which an instance is not there: those of reboots and maintenance leave it. Source: EC2 user guide,
 * "Scheduled events for your instances".
 */
const ending = ["instance-retirement", "instance-stop"];

/** When EC2 takes instances away by itself, milliseconds since the epoch, by their ids. */
type Notices = ReadonlyMap<string, number>;

/**
 * Instances with what EC2 has announced of them: asked once for each listing, whatever it holds. Of spot instances their requests
 * are asked for too.
 */
export async function* withNotices(
  ask: AskEc2,
  ctx: CallContext,
  listing: ReturnType<MachineCalls["list"]>,
  isSpot: (id: string) => boolean,
): AsyncGenerator<readonly Observed[], void> {
  let events: Notices | undefined;
  let spot: Notices | undefined;
  for await (const page of Symbol.asyncIterator in listing ? listing : [await listing]) {
    const alive = page.filter(({ phase }) => phase === "ready");
    if (alive.length > 0) events ??= await eventNotices(ask, ctx);
    if (alive.some(({ id }) => isSpot(id))) spot ??= await spotNotices(ask, ctx);
    const known = [events, spot];
    yield page.map((one) => {
      const times = known.flatMap((notices) => notices?.get(one.id) ?? []);
      return times.length === 0 || one.phase === "gone"
        ? one
        : { ...one, leavesAtMs: Math.min(...times) };
    });
  }
}

async function eventNotices(ask: AskEc2, ctx: CallContext): Promise<Notices> {
  const Filters = filters({ "event.code": ending });
  const found = new Map<string, number>();
  const pages = eachPage(async (NextToken) => {
    const answer = await ask(ctx, "DescribeInstanceStatus", (ec2, options) =>
      ec2.describeInstanceStatus({ Filters, NextToken }, options),
    );
    return { items: answer.InstanceStatuses ?? [], next: answer.NextToken };
  });
  for await (const { items } of pages) {
    for (const { InstanceId = "", Events = [] } of items) {
      const times = Events.flatMap(({ Code = "", Description = "", NotBefore }) => {
        // What is over is shown for a week.
        const isOver = /^\[(Completed|Canceled)\]/.test(Description);
        return isOver || !ending.includes(Code) ? [] : (NotBefore?.getTime() ?? []);
      });
      if (times.length > 0) found.set(InstanceId, Math.min(...times));
    }
  }
  return found;
}

async function spotNotices(ask: AskEc2, ctx: CallContext): Promise<Notices> {
  const Filters = filters({ "status-code": marked });
  const found = new Map<string, number>();
  const pages = eachPage(async (NextToken) => {
    const answer = await ask(ctx, "DescribeSpotInstanceRequests", (ec2, options) =>
      ec2.describeSpotInstanceRequests({ Filters, NextToken }, options),
    );
    return { items: answer.SpotInstanceRequests ?? [], next: answer.NextToken };
  });
  for await (const { items } of pages) {
    for (const { InstanceId, Status } of items) {
      const noticedAtMs = Status?.UpdateTime?.getTime();
      if (InstanceId === undefined || noticedAtMs === undefined) continue;
      found.set(InstanceId, noticedAtMs + spotNoticeMs);
    }
  }
  return found;
}
