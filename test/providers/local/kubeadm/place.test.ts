import assert from "node:assert/strict";
import type { networkInterfaces } from "node:os";
import fc from "fast-check";
import {
  addressesOf,
  groupOf,
  linkOf,
  overlapOf,
} from "../../../../providers/local/kubeadm/place.js";
import { assertLaw } from "../../../support/laws.js";

const digits = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, "a", "b", "c", "d", "e", "f"].map(String);
const ids = fc
  .tuple(
    fc.constantFrom("host", "lb"),
    fc.string({ unit: fc.constantFrom(...digits), minLength: 16, maxLength: 16 }),
  )
  .map(([kind, number]) => `${kind}-${number}`);

/** An address range, and the first and the last number in it. */
const ranges = fc
  .tuple(fc.nat({ max: 2 ** 32 - 1 }), fc.integer({ min: 1, max: 32 }))
  .map(([number, bits]) => {
    const size = 2 ** (32 - bits);
    const first = Math.floor(number / size) * size;
    return { cidr: `${textOf(number)}/${bits}`, first, last: first + size - 1 };
  });

function textOf(number: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256).join(".");
}

const interfaceWith = (cidr: string) =>
  ({ eth0: [{ cidr }] }) as unknown as ReturnType<typeof networkInterfaces>;

describe("how the parts of a cluster of namespaces are called", () => {
  it("the kernel takes the name of each cable, and different resources have different names", () => {
    assertLaw(
      fc.property(ids, ids, (one, other) => {
        assert.ok(linkOf(one).length <= 15);
        assert.equal(linkOf(one) === linkOf(other), one === other || alikeAtTheEnd(one, other));
        assert.equal(groupOf(one) === groupOf(other), one === other);
      }),
    );
  });

  it("this machine has the first address of a network, and the endpoint that of the load balancer", () => {
    const loadBalancer = { id: "lb-0123456789abcdef", status: { address: "10.4.0.10" } };
    assert.deepEqual(addressesOf(loadBalancer, "10.4.0.0/16"), {
      endpoint: "10.4.0.10",
      bits: 16,
      machine: { address: "10.4.0.1", link: "l-456789abcdef" },
    });
  });

  it("a range overlaps that of a network of this machine if, and only if, they share an address", () => {
    assertLaw(
      fc.property(ranges, ranges, (own, wanted) => {
        const isShared = own.first <= wanted.last && wanted.first <= own.last;
        const found = overlapOf(wanted.cidr, interfaceWith(own.cidr));
        assert.equal(found, isShared ? `eth0 ${own.cidr}` : undefined);
      }),
    );
    assert.equal(overlapOf("10.0.0.0/16", interfaceWith("fd00::2/64")), undefined);
  });
});

/** What 48 random bits make improbable. */
function alikeAtTheEnd(one: string, other: string): boolean {
  return other.startsWith(one.slice(0, 2)) && other.endsWith(one.slice(-12));
}
