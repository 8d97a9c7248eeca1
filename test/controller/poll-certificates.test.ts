import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import { ClusterState } from "../../src/controller/cluster-state.js";
import { eventTextOf } from "../../src/controller/event-messages.js";
import { pollCertificates } from "../../src/controller/poll-certificates.js";
import type { ReconcileEvent } from "../../src/controller/reconcile-event.js";
import { emptyState } from "../../src/records/prior-state.js";
import { type CertificateReport, expiryOf } from "../../src/source/certificate-report.js";
import type { ClusterView } from "../../src/source/cluster-view.js";
import { FakeClock } from "../support/fake-clock.js";
import { localProvider } from "../support/manifests.js";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const startMs = Date.UTC(2026, 0, 2);

const view: ClusterView = {
  phase: "Running",
  records: emptyState,
  isSettled: true,
  nowMs: startMs,
};

describe("pollCertificates", () => {
  /** What is told in so many days of a certificate that expires in 70, and of Secrets that are not ours. */
  async function toldIn(days: number, shown: ClusterView = view, conflicts: string[] = []) {
    const clock = new FakeClock(startMs, "manual");
    const cluster = new ClusterState();
    cluster.shown(shown);
    const events: ReconcileEvent[] = [];
    const changed: string[] = [];
    const stop = new AbortController();
    const certificatesOf = (..._of: unknown[]): CertificateReport => ({
      expiries: [expiryOf("ca", startMs + 70 * dayMs, clock.now())],
      conflicts,
    });
    const polling = pollCertificates(
      {
        source: { certificatesOf },
        sink: (_key, event) => events.push(event),
        clock,
        providers: [localProvider()],
        remembered: () => new Map([["default/prod", cluster]]),
        onChange: (key) => changed.push(key),
      },
      stop.signal,
    );
    for (let hours = 0; hours < days * 24; hours += 1) {
      clock.advance(hourMs);
      await turn();
    }
    stop.abort(new Error("over"));
    await polling;
    const texts = events.flatMap((event) => eventTextOf(event) ?? []);
    return { changed, looks: events.length - texts.length, texts };
  }

  it("tells once for each threshold, by a warning, and asks every hour whether all is shown", async () => {
    const { changed, looks, texts } = await toldIn(72);
    assert.equal(changed.length, 72 * 24);
    assert.equal(looks, 72 * 24);
    assert.deepEqual(
      texts.map(({ message, event }) => `${event?.type ?? ""} ${event?.reason ?? ""}: ${message}`),
      [
        "Warning CertificateExpires: certificate ca expires on 2026-03-13, in less than 60 days",
        "Warning CertificateExpires: certificate ca expires on 2026-03-13, in less than 30 days",
        "Warning CertificateExpires: certificate ca expires on 2026-03-13, in less than 7 days",
        "Warning CertificateExpired: certificate ca has expired on 2026-03-13",
      ],
    );
  });

  it("tells once of a Secret that is not ours, by a warning", async () => {
    const { texts } = await toldIn(2, view, ["default/prod-etcd"]);
    assert.deepEqual(
      texts.map(({ event }) => [event?.type, event?.reason]),
      [["Warning", "SecretConflict"]],
    );
  });

  it("says nothing of a cluster at which nobody has looked", async () => {
    const { looks, texts } = await toldIn(72, { ...view, isBlind: true });
    assert.deepEqual([looks, texts], [0, []]);
  });
});
