import type { Command } from "../../scenario/command.js";
import { until } from "../../scenario/until.js";
import { type Boundary, BoundaryMissed, boundaryText } from "../boundary.js";
import type { Operation } from "../operation.js";
import { machineSpecOf, providerValue, workerOf } from "../targets.js";
import { marksOf, type AccountCall } from "./account.js";
import { tagsIn } from "./aws-laws.js";
import type { HeldCall, Simulator } from "./simulator.js";

type Key = Pick<Boundary, "what" | "name">;

/** The action, and the name that it gives to what it makes. */
function keyOf({ action, parameters }: AccountCall): Key {
  const { name } = marksOf({ tags: tagsIn(parameters) });
  return { what: action, name: name === "" ? null : name };
}

const textOf = ({ what, name }: Key) => `${what} ${name ?? ""}`;

/**
 * The boundaries around the calls of a run: before the n-th call of an action, and after the n-th that did something. How often a run asks
 * while it waits is up to the hour, so of calls that look only the first one is told of and one in the middle, and of calls that are
 * tried until they succeed the first one and those that succeeded. Pure.
 */
export function awsBoundaries(calls: readonly AccountCall[]): Boundary[] {
  const keys = new Map(calls.map((call) => [textOf(keyOf(call)), keyOf(call)]));
  return [...keys].flatMap(([text, key]) => {
    const all = calls.filter((call) => textOf(keyOf(call)) === text);
    const idle = all.findIndex(({ outcome }) => outcome?.changes.length === 0);
    const well = all.filter(({ outcome }) => outcome?.status === 200);
    const done = well.filter(({ outcome }) => outcome?.changes.length !== 0);
    const looks = all.every(({ isMutating }) => !isMutating);
    const before = looks ? samples(all.length) : upTo(idle < 0 ? all.length : idle + 1);
    const after = looks ? samples(well.length) : upTo(done.length);
    const at = (side: Boundary["side"]) => (nth: number) =>
      ({ side, kind: "call", ...key, nth }) as const;
    return [...before.map(at("before")), ...after.map(at("after"))];
  });
}

function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}

function samples(count: number): number[] {
  return count === 0 ? [] : [...new Set([1, Math.ceil(count / 3)])];
}

const reachDeadlineMs = 240_000;

/** Runs a command up to a boundary, where its call is held. Throws when it never gets there. */
export async function startHeldAt(
  simulator: Simulator,
  boundary: Boundary,
  start: () => Command,
): Promise<{ readonly command: Command; readonly held: HeldCall }> {
  const { what, side } = boundary;
  await simulator.order({ action: what, times: 1_000_000, effect: { kind: "hold", when: side } });
  const command = start();
  let met = 0;
  const held = await until(
    `the run to come to ${boundaryText(boundary)}`,
    async () => {
      for (const call of await simulator.held()) {
        const [entry] = await simulator.ledger(call.seq - 1);
        const isAimedAt = entry !== undefined && textOf(keyOf(entry)) === textOf(boundary);
        if (isAimedAt) met += 1;
        if (isAimedAt && met === boundary.nth) return call;
        await simulator.release("go", call.seq);
      }
      if (command.hasEnded) throw new BoundaryMissed(boundary, command.said);
      return false;
    },
    reachDeadlineMs,
  );
  return { command, held };
}

/** What AWS answers where an account may have no more of something. */
const quotaCodes: Readonly<Record<string, string>> = {
  "ec2:CreateVpc": "VpcLimitExceeded",
  "ec2:CreateSubnet": "SubnetLimitExceeded",
  "ec2:CreateInternetGateway": "InternetGatewayLimitExceeded",
  "ec2:AllocateAddress": "AddressLimitExceeded",
  "ec2:CreateNatGateway": "NatGatewayLimitExceeded",
  "ec2:CreateRouteTable": "RouteTableLimitExceeded",
  "ec2:CreateSecurityGroup": "SecurityGroupLimitExceeded",
  "ec2:AuthorizeSecurityGroupIngress": "RulesPerSecurityGroupLimitExceeded",
  "ec2:RunInstances": "VcpuLimitExceeded",
  "ec2:CreateVolume": "VolumeLimitExceeded",
  "elasticloadbalancing:CreateLoadBalancer": "TooManyLoadBalancers",
  "elasticloadbalancing:CreateTargetGroup": "TooManyTargetGroups",
  "elasticloadbalancing:CreateListener": "TooManyListeners",
  "elasticloadbalancing:RegisterTargets": "TooManyTargets",
  "secretsmanager:CreateSecret": "LimitExceededException",
};

const throttled = (action: string) =>
  action.startsWith("ec2:") ? "RequestLimitExceeded" : "Throttling";

/** The simulator's fault that makes an operation fail: workers get no instances. */
export function breakingEffect({ target }: Pick<Operation, "target">): object {
  const { instanceType } = providerValue(machineSpecOf(workerOf(target ?? [])) ?? {});
  const effect = { kind: "refuse", code: "VcpuLimitExceeded" };
  const where = { InstanceType: String(instanceType) };
  return { action: "ec2:RunInstances", where, times: 1_000_000, effect };
}

/** The simulator's fault for a call that is spoiled, and how long it stays. */
export function spoilingEffect(mode: string, { what, side, nth }: Boundary): object {
  const once = { action: what, skip: nth - 1 };
  const refuse = (code: string) => ({ kind: "refuse", code });
  switch (mode) {
    case "fail":
      return { ...once, effect: { ...refuse("InternalError"), status: 500 } };
    case "throttle":
      return { ...once, times: 3, effect: refuse(throttled(what)) };
    case "quota":
      return { ...once, times: 1_000_000, effect: refuse(quotaCodes[what] ?? "LimitExceeded") };
    case "lose":
      return { ...once, effect: { kind: "cut", when: side } };
    default:
      throw new Error(`nothing of an account is spoiled by ${mode}`);
  }
}
