import assert from "node:assert/strict";
import { boundedRedaction, cutTo } from "../../src/api/bounded-text.js";
import { CapstanError, messageOf } from "../../src/api/error.js";
import { createLog } from "../../src/controller/log.js";
import { eventName } from "../../src/kube/event-names.js";
import { EventRecorder } from "../../src/kube/events.js";
import { intentOf } from "../../src/kube/live-intent.js";
import { redactedCopy } from "../../src/kube/redaction.js";
import { FakeClock } from "../support/fake-clock.js";
import { liveCluster } from "../support/live-objects.js";
import { localProvider } from "../support/manifests.js";

const huge = "eyJ-".repeat(262_144);
/** No reader of others' text gets more of it at once. */
const longestLook = 32_768;

/** A redaction that fails where it is given an unbounded text. */
function careful(text: string): string {
  assert.ok(text.length <= longestLook, `a redaction looks at ${text.length} characters`);
  return text;
}

describe("text of others, of any length", () => {
  it("is cut before a log looks at it", () => {
    const lines: string[] = [];
    const log = createLog({
      level: "info",
      redact: careful,
      write: (line) => void lines.push(line),
    });
    log.warn(huge, { cluster: huge }, new Error(huge, { cause: new Error(huge) }));
    assert.equal(lines.length, 1);
    assert.ok((lines[0]?.length ?? 0) < 5 * longestLook);
  });

  it("is cut before a status is redacted, at every depth", () => {
    const status = redactedCopy({ conditions: [{ message: huge }], phase: "Running" }, careful);
    assert.ok((status.conditions[0]?.message.length ?? 0) < longestLook);
    assert.equal(status.phase, "Running");
  });

  it("is cut before an Event is made of it", async () => {
    const notes: string[] = [];
    const clock = new FakeClock();
    const recorder = new EventRecorder({
      clock,
      redact: careful,
      store: {
        create: async (name, event) => {
          assert.equal(name, eventName(event, clock.now()));
          notes.push(event.note);
          return Promise.resolve(true);
        },
        find: async () => Promise.resolve(undefined),
        patchSeries: async () => Promise.resolve(true),
      },
    });
    const regarding = { apiVersion: "v1", kind: "Cluster", namespace: "a", name: "b", uid: "c" };
    recorder.record({ regarding, type: "Normal", reason: "Paused", action: "Pause", note: huge });
    await recorder.flush(new AbortController().signal);
    assert.equal(notes.length, 1);
    assert.ok((notes[0]?.length ?? 0) < longestLook);
  });

  it("is cut where it enters as an error", () => {
    const error = new CapstanError({ code: "CLOUD_FAILED", source: "cloud", message: huge });
    for (const message of [error.message, messageOf(error), messageOf(new Error(huge))]) {
      assert.ok(message.length < longestLook + 100);
    }
  });

  it("is cut where it enters as the reason of a pause", () => {
    const live = liveCluster([], { metadata: { annotations: { "capstan.dev/paused": huge } } });
    const intent = intentOf(live, [localProvider()]);
    assert.ok(intent.kind === "paused");
    assert.ok(intent.reason.length < 1_100 && intent.digest.length < 1_200);
  });

  it("shows no part of a secret that the cut goes through", () => {
    const secret = "correct horse battery staple";
    const redact = boundedRedaction((text) => text.replaceAll(secret, "[redacted]"));
    for (let place = 16_300; place < 16_400; place += 1) {
      const shown = redact(`${"x".repeat(place)}${secret}${"y".repeat(100_000)}`);
      assert.doesNotMatch(shown, /correct/);
      assert.match(shown, /^x+… \(\d+ more characters\)$/);
    }
  });

  it("is no shorter than it has to be", () => {
    assert.equal(boundedRedaction((text) => text)("a".repeat(16_384)), "a".repeat(16_384));
    assert.equal(cutTo("abc", 2), "ab… (1 more characters)");
    assert.equal(cutTo("a\u{1f680}", 2), "a… (2 more characters)");
  });
});
