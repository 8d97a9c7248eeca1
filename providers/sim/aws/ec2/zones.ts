// Names of zones and resources.

import type { Scope } from "../model/scope.js";

/** Letters of zones where they are not a, b and c, as most accounts see them. Source: AWS global infrastructure, "Regions and Availability Zones". */
const letters: Readonly<Record<string, string>> = {
  "us-east-1": "abcdef",
  "us-west-1": "ac",
  "us-west-2": "abcd",
  "ap-northeast-1": "acd",
  "ap-northeast-2": "abcd",
  "ca-central-1": "abd",
  "cn-north-1": "abd",
};

/** The zones of a region. Pure. */
export function zonesOf(region: string): readonly string[] {
  return Array.from(letters[region] ?? "abc").map((letter) => `${region}${letter}`);
}

/** "eun1-az1" of "eu-north-1a": short for the region, and a number. Pure. */
export function zoneIdOf(zone: string): string {
  const [area = "", ...rest] = zone.slice(0, -1).split("-");
  const number = rest.pop() ?? "";
  const compass = rest
    .join("")
    .replace(/north|south|east|west|central/g, ([letter = ""]) => letter);
  return `${area}${compass}${number}-az${zone.charCodeAt(zone.length - 1) - "a".charCodeAt(0) + 1}`;
}

/** The ARN of something of EC2. */
export function ec2Arn(
  { region, account }: Pick<Scope, "region" | "account">,
  type: string,
  id: string,
): string {
  return `arn:aws:ec2:${region}:${account}:${type}/${id}`;
}

/** The private name of an address, "ip-10-0-0-4.eu-north-1.compute.internal". */
export function privateName({ region }: Pick<Scope, "region">, address: string): string {
  const host = `ip-${address.replaceAll(".", "-")}`;
  return region === "us-east-1" ? `${host}.ec2.internal` : `${host}.${region}.compute.internal`;
}

/** The public name of an address. */
export function publicName({ region }: Pick<Scope, "region">, address: string): string {
  const host = `ec2-${address.replaceAll(".", "-")}`;
  return region === "us-east-1"
    ? `${host}.compute-1.amazonaws.com`
    : `${host}.${region}.compute.amazonaws.com`;
}
