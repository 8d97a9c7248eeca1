import assert from "node:assert/strict";
import { dnsLabel, dnsSubdomain, labelValue, qualifiedName } from "../../src/api/name-forms.js";
import { scrubber } from "../../src/api/scrubber.js";
import { visible, visiblePainted } from "../../src/api/visible.js";
import {
  expressionsIn,
  type FoundExpression,
  type HostileShape,
  hostileShapes,
  textOf,
} from "../support/regular-expressions.js";
import { sourcesIn } from "./sources.js";

const kib = 1_024;
const mib = 1_024 * kib;
/** At this length an expression of quadratic effort takes a tenth of a second already, and can still be waited for. */
const firstLook = 16 * kib;
/** What an expression may take for a text of 1 MiB. */
const longestMs = 100;

/** Expressions that are made at run time, by what they are made from. */
const made: Readonly<Record<string, RegExp>> = {
  dnsLabel: new RegExp(dnsLabel, "u"),
  dnsSubdomain: new RegExp(dnsSubdomain, "u"),
  qualifiedName: new RegExp(qualifiedName),
  labelValue: new RegExp(labelValue),
  freeTag: /^(?!Name$|capstan:|aws:|kubernetes\.io\/(cluster|role)\/).{1,128}$/u,
  unhealthyRange: /^\[(\d{1,6})-(\d{1,6})\]$/u,
  fingerprintDigits: /^[0-9a-f]{16}$/,
  "purposes kubeconfigPurpose": /^(.+)-(?:ca|etcd|proxy|sa|kubeconfig)$/,
  lookingVerbs: /\bcapstan (?=(?:plan|up|destroy)\b)/g,
  escapeSequence: /^__0x([0-9a-f]{1,8})__/i,
  escape: /(\u001b\[(?:0|1|2|3|4|22|23|24|3[0-79]|9[0-7])m)/u,
  // A joiner or a selector takes one look at each neighbour: both expressions are among the literals.
  "inEmoji betweenLetters":
    /(?![\t\n])\p{Cc}|[\u2028\u2029]|(?!\p{L}\u200d)\p{Default_Ignorable_Code_Point}/u,
  prefix: /^subnet-([0-9a-f]{8}|[0-9a-f]{17})$/,
  // The simulator's filters, for which the user's own command asks.
  source: /^ami-.*$/,
};

describe("text of others", () => {
  const sources = new Map([
    ...sourcesIn(["src", "providers", "stacks"]),
    ...sourcesIn(["tools/toolchain", "deploy", "bin"], "**/*.{mjs,js,cjs}"),
  ]);
  const { found, made: unknown } = expressionsIn(sources, made);

  it("meets no regular expression that this test does not know", () => {
    assert.deepEqual(unknown, []);
    assert.ok(found.length > 250, String(found.length));
  });

  it("of 1 MiB, however hostile, is matched by every regular expression within 100 ms", () => {
    const slow = found.flatMap((one) => slownessOf(one));
    assert.deepEqual(slow, []);
  });

  for (const [what, look] of Object.entries({
    "is scrubbed": scrubber({ DB_PASSWORD: "correct horse" }),
    "is made visible": visible,
    "is made visible where it is painted": visiblePainted,
  })) {
    it(`of 1 MiB ${what} in a time that grows no faster than the text`, () => {
      const shapes = found
        .filter(({ place }) => /^src\/api\/(scrubber|visible)\.ts:/.test(place))
        .flatMap(({ expression }) => hostileShapes(expression));
      const slow = slowShapes(shapes, look, 10 * longestMs);
      assert.deepEqual(slow, []);
    });
  }
});

function slownessOf({ place, expression }: FoundExpression): string[] {
  const everywhere = new RegExp(expression.source, [...new Set(`${expression.flags}g`)].join(""));
  const slow = slowShapes(
    hostileShapes(expression),
    (text) => text.replace(everywhere, ""),
    longestMs,
  );
  return slow.map((shape) => `${place} ${String(expression)} ${shape}`);
}

/** All shapes at the first look, and the slowest of them at 1 MiB. */
function slowShapes(
  shapes: readonly HostileShape[],
  look: (text: string) => unknown,
  limitMs: number,
): string[] {
  const times = shapes.map((shape) => ({ shape, ms: timeOf(look, textOf(shape, firstLook)) }));
  times.sort((left, right) => right.ms - left.ms);
  const worst = times.slice(0, 3).map(({ shape }) => shape);
  const slow = worst.find((shape) => {
    // Growing step by step: what is hopeless at 64 KiB is not asked for a megabyte.
    for (const length of [firstLook, 4 * firstLook, 16 * firstLook, mib]) {
      if (isSlow(look, textOf(shape, length), limitMs)) return true;
    }
    return false;
  });
  return slow === undefined ? [] : [JSON.stringify([slow.beginning, slow.repeated, slow.end])];
}

/** Measured again where it seems slow: the first time may have compiled the expression, or collected garbage. */
function isSlow(look: (text: string) => unknown, text: string, limitMs: number): boolean {
  const limit = limitMs * slownessOfMachine();
  return [1, 2, 3].every(() => timeOf(look, text) > limit);
}

/** Processor time, which other processes do not take away. */
function timeOf(look: (text: string) => unknown, text: string): number {
  const before = process.cpuUsage();
  look(text);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

let slowness: number | undefined;

/** How often slower than a machine that replaces a letter in each second place of 1 MiB in 50 ms; at least 1. */
function slownessOfMachine(): number {
  const text = "a ".repeat(mib / 2);
  const measure = () => timeOf((one) => one.replace(/[a-z]+/g, ""), text);
  slowness ??= Math.max(1, Math.min(measure(), measure(), measure()) / 50);
  return slowness;
}
