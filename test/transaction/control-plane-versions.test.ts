import assert from "node:assert/strict";
import { configureSettled, configureToJoin } from "../../src/engine/run/control-plane-settings.js";
import { mayHaveServed } from "../../src/plan/undo/point-of-no-return.js";
import { inMutant } from "../support/mutant.js";
import { replaced } from "../support/replacement.js";
import { type VersionCourse, versionCourseOf } from "../support/version-courses.js";

const undisturbed: VersionCourse = { members: 3, fault: undefined, then: "up" };
const failing = (number: number, then: VersionCourse["then"]): VersionCourse => ({
  members: 3,
  fault: { at: "boot", number, what: "fails" },
  then,
});

/** A kill before and after each call of an upgrade, and each of its ways on. */
const killed: VersionCourse[] = [1, 3].flatMap((members) =>
  Array.from({ length: 4 * members }, (_, number) => number).flatMap((number) =>
    (["killBefore", "killAfter"] as const).flatMap((what) =>
      (["up", "back", "rollback"] as const).map((then) => ({
        members,
        fault: { at: "call" as const, number, what },
        then,
      })),
    ),
  ),
);

describe("a control plane that gets another version by new hosts", () => {
  it("says so before each member joins, and kube-proxy follows after the last one", async () => {
    const { events, violations } = await versionCourseOf(undisturbed);
    assert.deepEqual(violations, []);
    assert.deepEqual(events, [
      "kubeadm-config: 1.35.0",
      ...["cp-0", "cp-1", "cp-2"].map((name) => `LocalHost/${name}`),
      "kube-proxy: 1.35.0",
    ]);
  });

  it("can be taken back while no newer API server has served", async () => {
    for (const then of ["rollback", "back"] as const) {
      const { outcomes, violations } = await versionCourseOf(failing(0, then));
      assert.match(outcomes[0] ?? "", /^rolledBack/);
      assert.deepEqual(violations, []);
    }
  });

  it("goes forward only once one has served", async () => {
    const { outcomes, violations } = await versionCourseOf(failing(1, "rollback"));
    assert.match(outcomes.join("\n"), /^stopped forwardOnly[^]*NOT_REVERSIBLE/);
    assert.deepEqual(violations, []);
  });

  it("goes forward only while its cluster cannot tell whether one has served", async () => {
    const kill = { at: "call", number: 0, what: "killAfter" } as const;
    const silent = { members: 3, fault: kill, then: "rollback", isSilent: true } as const;
    const { outcomes, violations } = await versionCourseOf(silent);
    assert.match(outcomes[1] ?? "", /NOT_REVERSIBLE/);
    assert.deepEqual(violations, []);
  });

  it("holds to that wherever it is killed, and whatever is asked for then", async () => {
    for (const course of killed) {
      const { violations } = await versionCourseOf(course);
      assert.deepEqual(violations, [], JSON.stringify(course));
    }
  }).timeout(300_000);
});

describe("laws of a control plane's versions", () => {
  const defects = [
    {
      name: "a member joins before kubeadm-config says its version",
      defect: replaced(configureToJoin, () => () => Promise.resolve(undefined)),
      want: /^law 21: versions: cp-0-\S+, 1\.35\.0, joins what kubeadm-config calls 1\.34\.2$/,
    },
    {
      name: "kube-proxy comes before the last member",
      defect: replaced(configureToJoin, (original) => (cluster, wanted, machine) => {
        const configure: typeof cluster.configure = async (asked) => {
          const what = await cluster.configure(asked);
          await cluster.updateAddons(asked);
          return what;
        };
        return original({ ...cluster, configure }, wanted, machine);
      }),
      want: /^law 21: versions: kube-proxy 1\.35\.0 beside cp-\d-\S+, 1\.34\.2$/,
    },
    {
      name: "kube-proxy stays behind",
      defect: replaced(
        configureSettled,
        () =>
          async (cluster, { configuration }, tell) =>
            tell(await cluster.configure(configuration)),
      ),
      want: /^law 21: versions: kube-proxy says 1\.34\.2, and members have 1\.35\.0$/,
    },
    {
      name: "kubeadm-config is not taken back",
      defect: replaced(configureSettled, () => async (cluster, { ofAddons }, tell) => {
        for (const what of await cluster.updateAddons(ofAddons)) tell(what);
      }),
      want: /^law 21: versions: kubeadm-config says 1\.35\.0, and members have 1\.34\.2$/,
    },
    {
      name: "a host closes the way back that has never served",
      defect: replaced(mayHaveServed, () => () => true),
      want: /^law 11: undo: \S+ was refused too early$/,
    },
    {
      name: "one that has served does not close it",
      defect: replaced(mayHaveServed, () => () => false),
      want: /^law 11: undo: \S+ was not refused, and a newer one has served$/,
    },
  ];
  for (const { name, defect, want } of defects) {
    it(`see that ${name}`, async () => {
      const asked = { module: "test/support/version-courses.js", own: { versionCourseOf } };
      await inMutant([defect], asked, async (copy) => {
        const found: string[] = [];
        for (const course of [undisturbed, failing(0, "rollback"), failing(1, "back"), ...killed]) {
          found.push(...(await copy.versionCourseOf(course)).violations);
          if (found.some((one) => want.test(one))) break;
        }
        assert.ok(
          found.some((one) => want.test(one)),
          [...new Set(found)].slice(0, 9).join("\n"),
        );
      });
    }).timeout(300_000);
  }
});
