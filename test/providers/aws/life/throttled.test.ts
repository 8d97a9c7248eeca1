import assert from "node:assert/strict";
import { lanes, RequestPaces } from "../../../../providers/aws/calls/request-pace.js";
import { expectDefined } from "../../../../src/api/error.js";
import { secretNameOf } from "../../../../src/bootstrap/host/delivery.js";
import type { SettingsChange } from "../../../../providers/sim/aws/model/settings.js";
import { SteppedTime } from "../../../support/stepped-time.js";
import { AwsLife } from "./life.js";
import { SimCloud } from "./sim-cloud.js";

const refusals = ["RequestLimitExceeded", "Throttling"];
const quotas = { vpcs: 100, internetGateways: 100, addresses: 100, natGatewaysPerZone: 100 };

/** A call as the ledger has it, with whether it was refused since there were too many. */
interface Counted {
  readonly atMs: number;
  readonly action: string;
  readonly isRefused: boolean;
}

/** Clusters in an account that counts calls, in a time that passes only while everybody waits. */
class ThrottledAccount {
  readonly time: SteppedTime;
  /** All providers are of one process. */
  private readonly paces = new RequestPaces();
  private readonly cloud: SimCloud;

  constructor(settings: SettingsChange) {
    this.cloud = new SimCloud({ throttle: true, quotas, ...settings });
    const { aws } = this.cloud;
    this.time = new SteppedTime(
      () => aws.clock.now(),
      (ms) => aws.advance(ms),
    );
  }

  /** A cluster of one host, made from its plan on. */
  async make(cluster: string): Promise<AwsLife> {
    const { paces, time, cloud } = this;
    const place = { clients: cloud.clients, clock: time.clock, paces };
    const life = new AwsLife(place, { cluster, isSmall: true });
    const made = async () => {
      for (const { phase, run } of life.steps()) {
        if (phase === "unchanged") return;
        await run();
      }
    };
    await this.time.run(made());
    return life;
  }

  /** What a look shows, as the watch loop takes it. */
  async look({ provider, context }: AwsLife): Promise<number> {
    const owned = await this.time.run(provider.owned?.(context) ?? Promise.resolve([]));
    return owned.length;
  }

  calls(after = 0): Counted[] {
    return this.cloud.aws.ledger.after(after).map(({ atMs, action, outcome }) => {
      return { atMs, action, isRefused: refusals.includes(outcome?.code ?? "") };
    });
  }

  setRates(rates: NonNullable<SettingsChange["rates"]>): void {
    this.cloud.aws.change({ rates });
  }
}

/** The most that began of a lane in any time, beyond what the lane allows: none where it is 0 or less. */
function mostTooMany(
  calls: readonly Counted[],
  service: keyof typeof lanes,
  name: string,
): { readonly count: number; readonly tooMany: number } {
  const own = lanes[service];
  const atMs = calls.flatMap(({ atMs: at, action }) => {
    const [prefix, call = ""] = action.split(":");
    return prefix === service && own.find((lane) => lane.calls.test(call))?.name === name ? at : [];
  });
  const { perSecond, burst } = own.find((lane) => lane.name === name)?.most ?? assert.fail(name);
  let tooMany = Number.NEGATIVE_INFINITY;
  for (const [first, fromMs] of atMs.entries()) {
    for (let last = first; last < atMs.length; last += 1) {
      const allowed = burst + (perSecond * ((atMs[last] ?? 0) - fromMs)) / 1_000;
      tooMany = Math.max(tooMany, last - first + 1 - allowed);
    }
  }
  return { count: atMs.length, tooMany };
}

/** What is kept for a host comes and goes. */
async function keepsSecrets({ provider, context }: AwsLife, index: number): Promise<void> {
  const store = expectDefined(provider.userData?.secrets, "a store");
  const token = String(index).repeat(32);
  const names = { cluster: `default/c${index}`, kind: provider.hostKind, name: "cp-0-00000000-1" };
  const who = { ...names, clusterUid: `uid-${index}`, token };
  const name = secretNameOf(token);
  await store.put(context, name, Buffer.from("secret"), { who, controlPlane: true });
  await store.kept?.(context);
  await store.delete(context, name, who);
}

describe("clusters in an account whose requests AWS counts", () => {
  it("are made and looked at without a refusal, within the rates that docs/aws.md tells", async () => {
    const account = new ThrottledAccount({});
    const lives = [await account.make("c0"), await account.make("c1"), await account.make("c2")];
    const [first] = lives;
    assert.ok(first !== undefined);
    // All at once, as several commands do it that share a process.
    const begun = account.calls().length;
    const looks = await account.time.run(
      Promise.all(lives.map(async ({ provider, context }) => provider.owned?.(context))),
    );
    assert.deepEqual(
      looks.map((look) => look?.length),
      Array(3).fill(3 * first.planned().length),
    );
    await account.time.run(Promise.all(lives.map(keepsSecrets)));
    const calls = account.calls();
    assert.ok(calls.length > begun + 3 * 24);
    assert.deepEqual(
      calls.filter(({ isRefused }) => isRefused),
      [],
    );
    for (const [service, all] of Object.entries(lanes)) {
      for (const { name } of all) {
        const { count, tooMany } = mostTooMany(calls, service as keyof typeof lanes, name);
        assert.ok(count > 0, `${service} ${name}`);
        assert.ok(tooMany <= 1e-3, `${service} ${name}: ${tooMany} too many`);
      }
    }
  });

  it("are made where others have taken nearly all, with few refusals and nothing asked twice", async () => {
    const scarce = { capacity: 2, perSecond: 0.5 };
    const rates = Object.fromEntries(
      ["ec2:DescribeVpcs", "ec2:DescribeSubnets", "ec2:AuthorizeSecurityGroupIngress"].map(
        (action) => [action, scarce] as const,
      ),
    );
    const [free, busy] = [new ThrottledAccount({}), new ThrottledAccount({ rates })];
    const made = await busy.make("c0");
    await free.make("c0");
    const [unhindered, hindered] = [free.calls(), busy.calls()];
    const refused = hindered.filter(({ isRefused }) => isRefused).length;
    assert.ok(refused > 0, "the account is busy");
    const changes = (calls: readonly Counted[]) =>
      calls
        .filter(({ action, isRefused }) => !isRefused && !/:(Describe|Get)/.test(action))
        .map(({ action }) => action);
    assert.deepEqual(changes(hindered), changes(unhindered));
    assert.ok(refused * 10 < hindered.length, `${refused} of ${hindered.length} were refused`);
    // A look that is refused in the middle goes on from there: what was seen is not asked for again.
    busy.setRates({ "ec2:DescribeVpcAttribute": { capacity: 1, perSecond: 0.2 } });
    const before = busy.calls().length;
    assert.equal(await busy.look(made), made.planned().length);
    const look = busy.calls().slice(before);
    const told = look.filter(({ isRefused }) => !isRefused);
    assert.ok(look.length > told.length, "the look was hindered");
    assert.ok(look.length - told.length <= 4, `${look.length - told.length} refusals`);
  });
});
