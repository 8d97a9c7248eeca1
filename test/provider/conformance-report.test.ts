import assert from "node:assert/strict";
import {
  badgeLine,
  conformanceCases,
  type ConformanceProgress,
  ConformanceFailure,
  reportText,
  runConformance,
} from "../../src/provider-conformance/index.js";
import { CapstanError } from "../../src/api/error.js";
import type { JsonObject } from "../../src/api/json.js";
import type { InfrastructureProvider } from "../../src/provider/port.js";
import { cases, swallowing, withCalls } from "./defects.js";
import { folderSubject, localSubject } from "./worlds.js";

const deletesTwice = "deletes twice without an error";

describe("conformance report", () => {
  it("says what passed, what did not, and what was not checked and why", async () => {
    const subject = folderSubject({
      provider: (good) => withCalls(good, () => ({ remove: async () => {} })),
    });
    const report = await runConformance(subject);
    assert.equal(report.schemaVersion, 1);
    assert.equal(report.provider, "folder");
    assert.equal(
      report.cases.length,
      report.passed + report.failed + report.notChecked + report.notOffered,
    );
    const failed = report.cases.find(({ name }) => name === deletesTwice);
    assert.equal(failed?.outcome, "failed");
    const text = reportText(report);
    assert.match(text, /^FAILED {7}deletes twice without an error\n +a provider must .+/m);
    assert.match(
      text,
      /^not checked {2}answers many where several bear the same marks\n +the world has no plantTwin: add plantTwin\(who, spec\), .+$/m,
    );
    assert.match(text, /^not offered {2}converts .+\n +the provider serves one version$/m);
    assert.match(text, /\n\d+ passed, \d+ failed, 2 not checked, 20 not offered\n$/);
    assert.deepEqual(JSON.parse(JSON.stringify(report)), report);
    assert.match(badgeLine(report), /^!\[capstan conformance: .+\]\(https:\/\/\S+-red\)$/);
  });

  it("has a green badge where all that could be checked has passed", async () => {
    const report = await runConformance(localSubject());
    assert.equal(report.failed, 0, reportText(report));
    assert.match(badgeLine(report), /-brightgreen\)$/);
    assert.match(badgeLine({ ...report, notChecked: 1 }), /-yellowgreen\)$/);
  });

  it("says which part of a case that passed was not checked", async () => {
    const folder = folderSubject();
    const fixed = {
      ...folder,
      open: async () => {
        const world = await folder.open();
        return {
          ...world,
          mutate: (id: string, fields: JsonObject) =>
            !("kubelet" in fields) && (world.mutate?.(id, fields) ?? false),
        };
      },
    };
    const found = conformanceCases(fixed).find(({ name }) => name === cases.changed);
    assert.deepEqual(await found?.run(), {
      outcome: "passed",
      exceptFor: ["the world cannot change kubelet"],
    });
    const text = reportText(await runConformance(fixed));
    assert.match(
      text,
      /^passed .+changed in the cloud\n +not checked: the world cannot change kubelet$/m,
    );
  });

  it("tells which case and kind it is at", async () => {
    const told: ConformanceProgress[] = [];
    const progress = (now: ConformanceProgress) => void told.push(now);
    const found = conformanceCases(localSubject(), { progress }).find(
      ({ name }) => name === deletesTwice,
    );
    await found?.run();
    assert.deepEqual(
      told,
      ["LocalNetwork", "LocalLoadBalancer", "LocalHost", "LocalVolume"].map((kind) => ({
        name: deletesTwice,
        kind,
      })),
    );
  });

  it("says of all kinds what is wrong with them, and what it could not check", async () => {
    const kinds = ["LocalNetwork", "LocalLoadBalancer", "LocalHost", "LocalVolume"];
    const silent = localSubject((good) =>
      kinds.reduce(
        (provider: InfrastructureProvider, kind) => swallowing(provider, "remove", kind),
        good,
      ),
    );
    const found = conformanceCases(silent).find(
      ({ name }) => name === "says so when the cloud refuses a change",
    );
    await assert.rejects(found?.run() ?? Promise.resolve(), (error) => {
      assert.ok(error instanceof ConformanceFailure);
      const told = error.message.matchAll(/^(\w+): a provider must /gm);
      assert.deepEqual(
        [...told].map(([, kind]) => kind),
        kinds,
      );
      return true;
    });
  });

  it("names the call that threw, its error, its causes and what came first", async () => {
    const offline = localSubject((good) =>
      withCalls(
        good,
        () => ({
          create: async () => {
            const cause = new TypeError("fetch failed", { cause: new Error("ECONNREFUSED") });
            const message = "no way to the cloud";
            throw new CapstanError({ code: "PERMISSION", source: "cloud", message, cause });
          },
        }),
        "LocalNetwork",
      ),
    );
    const told =
      /create of LocalNetwork threw PERMISSION: no way to the cloud, caused by: fetch failed, caused by: ECONNREFUSED \(at .+\)/;
    const report = await runConformance(offline);
    const [first, second] = report.cases;
    assert.match(first?.message ?? "", told);
    assert.doesNotMatch(first?.message ?? "", /first met/);
    assert.match(second?.message ?? "", told);
    const { name = "" } = first ?? {};
    assert.match(second?.message ?? "", new RegExp(`\nfirst met in "${name}" with LocalNetwork$`));
    const { kind, origin } = report.firstFailure ?? {};
    assert.deepEqual([report.firstFailure?.name, kind], [name, "LocalNetwork"]);
    assert.match(origin ?? "", /^create of LocalNetwork threw PERMISSION: /);
    assert.match(reportText(report), new RegExp(`\nthe first failure: LocalNetwork, ${name}\n`));
  });

  it("says the call of an error where it expects none", async () => {
    const failing = folderSubject({
      provider: (good) =>
        withCalls(good, () => ({
          remove: async () => {
            throw new RangeError("out of it");
          },
        })),
    });
    const found = conformanceCases(failing).find(({ name }) => name === cases.nothingLeft);
    await assert.rejects(
      found?.run() ?? Promise.resolve(),
      /be able to remove .+: RangeError from remove of FolderHost \(out of it\)/,
    );
  });

  it("has kinds checked that only a member of a control plane needs", async () => {
    const told: string[] = [];
    const { clusterSpec, ...subject } = localSubject();
    const ofMembers = { ...subject, clusterSpec: { ...clusterSpec, registersHosts: true } };
    const progress = ({ kind }: ConformanceProgress) => void told.push(kind);
    for (const name of ["makes one resource of one token", cases.lists, cases.locates]) {
      const found = conformanceCases(ofMembers, { progress }).find((one) => one.name === name);
      assert.deepEqual(await found?.run(), { outcome: "passed", exceptFor: [] }, name);
      assert.equal(told.at(-1), "LocalTarget");
    }
  });

  it("gives a case up that takes too long", async () => {
    const hanging = folderSubject({
      provider: (good) => withCalls(good, () => ({ locate: () => new Promise(() => {}) })),
    });
    const found = conformanceCases(hanging, { timeoutMs: 100 }).find(
      ({ name }) => name === deletesTwice,
    );
    await assert.rejects(found?.run() ?? Promise.resolve(), /after 0\.1 s it has not/);
  });

  it("does not let a provider pass on a world that does not do what it says", async () => {
    const local = localSubject();
    const deaf = {
      ...local,
      open: async () => ({ ...(await local.open()), beforeChange: () => {}, hang: () => {} }),
    };
    const telling = conformanceCases(deaf).filter(({ name }) =>
      [
        "says so when the cloud refuses a change",
        cases.engine,
        cases.interrupt,
        cases.hang,
      ].includes(name),
    );
    assert.equal(telling.length, 4);
    for (const { name, run } of telling) {
      await assert.rejects(run(), /the harness must (call the hook|leave calls)/, name);
    }
  });
});
