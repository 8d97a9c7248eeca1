import type { Config, Resource } from "@pulumi/pulumi";
import type { InCluster } from "./actions.ts";

/** What the configuration says. */
export interface Settings {
  readonly name: string;
  readonly cidr: string;
  /** 1 to 4. */
  readonly zones: number;
  readonly natGateways: "one" | "perZone";
  readonly inCluster: readonly InCluster[];
  /** ARNs. */
  readonly controllers: readonly string[];
  readonly protect: boolean;
}

/** The settings, with what every resource is a part of: what is protected, they are too. */
export interface FoundationScope extends Settings {
  readonly parent: Resource;
}

const controllersInside: readonly InCluster[] = ["loadBalancers", "volumes"];

/** Throws for what cannot be: all problems at once. */
export function settingsFrom(config: Pick<Config, "get" | "getNumber" | "getBoolean">): Settings {
  const natGateways = config.get("natGateways") ?? "perZone";
  const inCluster = listed(config.get("inCluster"));
  const zones = config.getNumber("zones") ?? 3;
  const cidr = config.get("cidr") ?? "10.0.0.0/16";
  const problems = [
    ...(natGateways === "one" || natGateways === "perZone"
      ? []
      : [`natGateways is ${natGateways}, and not one or perZone`]),
    ...inCluster
      .filter((one) => !isInCluster(one))
      .map((one) => `inCluster has ${one}, and knows ${controllersInside.join(", ")}`),
    ...(Number.isInteger(zones) && zones >= 1 && zones <= 4
      ? []
      : [`zones is ${zones}, and not 1 to 4`]),
    ...(isRange(cidr) ? [] : [`cidr is ${cidr}, and no range of /16 to /20`]),
  ];
  if (problems.length > 0) throw new Error(`aws-foundation: ${problems.join("; ")}`);
  return {
    name: config.get("name") ?? "capstan",
    cidr,
    zones,
    natGateways: natGateways === "one" ? "one" : "perZone",
    inCluster: inCluster.filter(isInCluster),
    controllers: listed(config.get("controllers")),
    protect: config.getBoolean("protect") ?? true,
  };
}

function listed(text = ""): string[] {
  return text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

function isInCluster(name: string): name is InCluster {
  return controllersInside.some((one) => one === name);
}

function isRange(text: string): boolean {
  const [, address = "", length] = /^([\d.]+)\/(\d+)$/.exec(text) ?? [];
  const bytes = address.split(".").map(Number);
  const isAddress = bytes.length === 4 && bytes.every((byte) => byte >= 0 && byte <= 255);
  return isAddress && Number(length) >= 16 && Number(length) <= 20;
}

/**
 * The ranges of subnets: a sixteenth of the network each, as small parts for public ones cost nothing and a range cannot
 * grow. Public ones first, then private ones, in the order of zones. Pure.
 */
export function subnetRanges(
  cidr: string,
  zones: number,
): { readonly public: readonly string[]; readonly private: readonly string[] } {
  const [address = "", length = ""] = cidr.split("/");
  const start = address.split(".").reduce((sum, byte) => sum * 256 + Number(byte), 0);
  const size = 2 ** (32 - Number(length) - 4);
  const rangeAt = (index: number) => `${textOf(start + index * size)}/${Number(length) + 4}`;
  const count = Array.from({ length: zones }, (_zone, index) => index);
  return {
    public: count.map((zone) => rangeAt(zone)),
    private: count.map((zone) => rangeAt(8 + zone)),
  };
}

function textOf(address: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256).join(".");
}
