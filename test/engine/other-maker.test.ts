import assert from "node:assert/strict";
import { adoptedUid } from "../../src/engine/operations/survey.js";
import type { Observed } from "../../src/provider/port.js";
import { clusterUidOf, ownerMarkOf } from "../../src/records/cluster-uid.js";
import { failsWith } from "../support/errors.js";
import { cluster, desiredOf, machine } from "../support/manifests.js";

const mark = (server: string) => ownerMarkOf(server, () => "");
const [own, other, third] = [mark("own"), mark("other"), mark("third")];
const uuid = "01234567-89ab-4cde-a123-456789abcdef";
const another = "76543210-89ab-4cde-a123-456789abcdef";

const [ours, theirs, ofThird] = [own, other, third].map((one) => clusterUidOf(uuid, one));
const old = uuid;

/** What a cloud shows of the clusters with these UIDs. */
function seen(...uids: (string | undefined)[]): Observed[] {
  return uids.map((clusterUid = "", index) => ({
    id: `id-${index}`,
    who: { cluster: "default/prod", clusterUid, kind: "LocalHost", name: `h${index}`, token: "" },
    phase: "ready",
    spec: {},
    status: {},
  }));
}

describe("what a cloud holds of a cluster that the state does not know", () => {
  const input = {
    desired: desiredOf([cluster(), machine("cp-0", { controlPlane: "1.34.2" })]),
    adopt: false as boolean | string,
  };

  const cases = [
    { name: "its own owner has made", found: seen(ours, ours), code: "AMBIGUOUS_OWNER" },
    { name: "somebody else has made", found: seen(theirs, theirs), code: "NOT_OWNER" },
    { name: "several others have made", found: seen(theirs, ofThird), code: "NOT_OWNER" },
    { name: "its owner and others have made", found: seen(ours, theirs), code: "AMBIGUOUS_OWNER" },
    { name: "an early release has made", found: seen(old), code: "AMBIGUOUS_OWNER" },
    { name: "others and an early release made", found: seen(theirs, old), code: "AMBIGUOUS_OWNER" },
  ] as const;
  for (const { name, found, code } of cases) {
    it(`is refused with ${code} where ${name} it`, () => {
      assert.throws(
        () => adoptedUid({ ...input, ownerMark: () => own }, found),
        failsWith(code, /^cannot create default\/prod: the cloud holds \d resources? of /),
      );
    });
  }

  it("names the mark of its maker, and the own one", () => {
    const refused = () => adoptedUid({ ...input, ownerMark: () => own }, seen(theirs));
    assert.throws(
      refused,
      failsWith("NOT_OWNER", new RegExp(`by another owner \\(mark ${other}; here .* ${own}\\)$`)),
    );
  });

  it("tells nothing of owners to whoever has no mark", () => {
    const refused = () => adoptedUid({ ...input, ownerMark: () => undefined }, seen(theirs));
    assert.throws(refused, failsWith("AMBIGUOUS_OWNER"));
  });

  it("is taken over whoever has made it by whoever was asked to, and never several", () => {
    const asked = (adopt: boolean | string, ...uids: (string | undefined)[]) =>
      adoptedUid({ ...input, adopt, ownerMark: () => own }, seen(...uids));
    for (const uid of [ours, theirs, old]) {
      assert.equal(asked(true, uid), uid);
      assert.equal(asked(uid ?? "", uid), uid);
    }
    assert.throws(() => asked(theirs ?? "", ofThird), failsWith("NOT_OWNER"));
    const twice = [theirs, clusterUidOf(another, other)];
    assert.throws(() => asked(true, ...twice), failsWith("NOT_OWNER"));
  });

  it("is nothing where all of it is gone", () => {
    const gone = seen(theirs).map((one): Observed => ({ ...one, phase: "gone" }));
    assert.equal(adoptedUid({ ...input, ownerMark: () => own }, gone), undefined);
  });
});
