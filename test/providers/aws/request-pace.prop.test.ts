import assert from "node:assert/strict";
import fc from "fast-check";
import { AdaptivePace, lanes, RequestPaces } from "../../../providers/aws/calls/request-pace.js";
import { SteppedTime } from "../../support/stepped-time.js";
import { assertAsyncLaw } from "../../support/laws.js";

interface Step {
  readonly kind: "ask" | "refuse" | "interrupt" | "pass";
  readonly count: number;
}

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom("ask", "ask", "refuse", "interrupt", "pass"),
  count: fc.integer({ min: 1, max: 12 }),
});

const rates = fc.record({
  perSecond: fc.integer({ min: 1, max: 20 }),
  burst: fc.integer({ min: 1, max: 10 }),
});

/** Somebody who asks for a turn. */
interface Asker {
  readonly number: number;
  begunAtMs?: number;
  isInterrupted: boolean;
  readonly abort: AbortController;
}

/** Whoever asks at one pace, in a time of its own. */
class Rig {
  nowMs = 1_000_000;
  readonly time = new SteppedTime(
    () => this.nowMs,
    (ms) => {
      this.nowMs += ms;
    },
  );
  readonly pace: AdaptivePace;
  readonly askers: Asker[] = [];
  readonly refusedAtMs: number[] = [];
  private readonly turns: Promise<void>[] = [];

  constructor(most: { readonly perSecond: number; readonly burst: number }) {
    this.pace = new AdaptivePace(most);
  }

  ask(count: number): void {
    for (let one = 0; one < count; one += 1) {
      const abort = new AbortController();
      const asker: Asker = { number: this.askers.length, isInterrupted: false, abort };
      this.askers.push(asker);
      const { clock } = this.time;
      this.turns.push(
        this.pace.turn({ clock, signal: abort.signal }).then(
          (atMs) => {
            asker.begunAtMs = atMs;
          },
          () => {
            asker.isInterrupted = true;
          },
        ),
      );
    }
  }

  interrupt(): void {
    this.askers
      .find(({ begunAtMs, abort }) => begunAtMs === undefined && !abort.signal.aborted)
      ?.abort.abort(new Error("interrupted"));
  }

  /** What began last is refused. */
  refuse(): void {
    const last = this.begun().at(-1);
    if (last === undefined) return;
    this.pace.refused(last, this.nowMs);
    this.refusedAtMs.push(this.nowMs);
  }

  begun(): number[] {
    return this.askers.flatMap(({ begunAtMs = [] }) => begunAtMs);
  }

  async pass(ms: number): Promise<void> {
    await this.time.run(this.time.clock.sleep(ms));
  }

  /** Until everybody who asked has had a turn. */
  async end(): Promise<void> {
    await this.time.run(Promise.all(this.turns));
  }

  async after(steps: readonly Step[]): Promise<void> {
    for (const { kind, count } of steps) {
      if (kind === "ask") this.ask(count);
      if (kind === "interrupt") this.interrupt();
      if (kind === "refuse") this.refuse();
      await this.pass(kind === "pass" ? count * 250 : 0);
    }
    await this.end();
  }
}

describe("the pace of requests to AWS, laws", () => {
  const histories = fc.tuple(rates, fc.array(step, { maxLength: 25 }));

  it("lets no more begin in any time than its rate and its burst", async () => {
    await assertAsyncLaw(
      fc.asyncProperty(histories, async ([most, steps]) => {
        const rig = new Rig(most);
        await rig.after(steps);
        const begun = rig.begun();
        for (const [first, fromMs] of begun.entries()) {
          for (const [last, toMs] of begun.entries()) {
            if (last < first) continue;
            const allowed = most.burst + (most.perSecond * (toMs - fromMs)) / 1_000;
            assert.ok(
              last - first + 1 <= allowed + 1e-3,
              `${last - first + 1} in ${toMs - fromMs}`,
            );
          }
        }
      }),
      60,
    );
  });

  it("gives everybody a turn in the order of asking, and none to whoever was interrupted", async () => {
    await assertAsyncLaw(
      fc.asyncProperty(histories, async ([most, steps]) => {
        const rig = new Rig(most);
        await rig.after(steps);
        const begun = rig.begun();
        assert.deepEqual(
          [...begun].sort((one, other) => one - other),
          begun,
        );
        for (const { begunAtMs, isInterrupted, abort } of rig.askers) {
          assert.equal(begunAtMs === undefined, abort.signal.aborted);
          assert.equal(isInterrupted, abort.signal.aborted);
        }
      }),
      60,
    );
  });

  it("is half as fast after a refusal, never stands still, and is as fast as before within a minute", async () => {
    await assertAsyncLaw(
      fc.asyncProperty(rates, fc.integer({ min: 1, max: 12 }), async (most, refusals) => {
        const rig = new Rig(most);
        for (let one = 0; one < refusals; one += 1) {
          rig.ask(1);
          await rig.end();
          const before = rig.pace.rateAt(rig.nowMs);
          rig.refuse();
          const after = rig.pace.rateAt(rig.nowMs);
          assert.ok(Math.abs(after - Math.max(before / 2, most.perSecond / 20)) < 1e-6);
          const begun = rig.begun().length;
          rig.ask(most.burst + 1);
          await rig.pass(1_000);
          // In a second it recovers a sixtieth.
          const allowed = after + most.perSecond / 60;
          assert.ok(rig.begun().length - begun <= allowed + 1e-3);
          await rig.end();
        }
        await rig.pass(120_000);
        assert.equal(rig.pace.rateAt(rig.nowMs), most.perSecond);
        const [from, nowMs] = [rig.begun().length, rig.nowMs];
        rig.ask(most.burst);
        await rig.end();
        assert.deepEqual(rig.begun().slice(from), Array(most.burst).fill(nowMs));
      }),
      40,
    );
  });

  it("takes what was refused together for one refusal", async () => {
    const rig = new Rig({ perSecond: 16, burst: 8 });
    rig.ask(8);
    await rig.end();
    for (let one = 0; one < 8; one += 1) rig.refuse();
    assert.equal(rig.pace.rateAt(rig.nowMs), 8);
  });
});

describe("the paces of a process", () => {
  const cloud = { account: "123456789012", region: "eu-north-1" };

  it("are shared by whoever is led to the same account and region, and by nobody else", () => {
    const paces = new RequestPaces();
    const one = paces.of("ec2", "DescribeVpcs", cloud);
    const { account, region } = cloud;
    assert.equal(paces.of("ec2", "DescribeSubnets", { region, account }), one);
    const others = [
      paces.of("ec2", "DescribeVpcs", { ...cloud, account: "210987654321" }),
      paces.of("ec2", "DescribeVpcs", { ...cloud, region: "eu-west-1" }),
      paces.of("elasticloadbalancing", "DescribeTags", cloud),
      paces.of("ec2", "CreateVpc", cloud),
      paces.of("ec2", "RunInstances", cloud),
    ];
    assert.equal(new Set([one, ...others]).size, 6);
  });

  it("have a lane for every call", () => {
    for (const all of Object.values(lanes)) {
      for (const call of ["RunInstances", "CreateTags", "DescribeTags", "GetConsoleOutput"]) {
        assert.ok(all.some(({ calls }) => calls.test(call)));
      }
    }
  });
});
