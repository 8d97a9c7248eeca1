// Arithmetic of IPv4 ranges.

import { ApiError, invalidValue } from "../protocol/api-error.js";

/** Addresses from `first` to `last`, as numbers. */
interface Range {
  readonly first: number;
  readonly last: number;
  readonly bits: number;
}

/** A range written as EC2 wants it. Throws InvalidParameterValue for what is none. */
export function rangeOf(cidr: string): Range {
  const [, address = "", bits = ""] = /^(\d+\.\d+\.\d+\.\d+)\/(\d+)$/.exec(cidr) ?? [];
  const parts = address.split(".").map(Number);
  const length = Number(bits);
  if (address === "" || parts.some((part) => part > 255) || length > 32) {
    throw invalidValue(
      `Value (${cidr}) for parameter cidrBlock is invalid. This is not a valid CIDR block.`,
    );
  }
  const size = 2 ** (32 - length);
  const number = parts.reduce((sum, part) => sum * 256 + part, 0);
  const first = Math.floor(number / size) * size;
  return { first, last: first + size - 1, bits: length };
}

/** The same, its host bits zero, as EC2 makes it. */
export function normalRange(cidr: string): string {
  const { first, bits } = rangeOf(cidr);
  return `${addressOf(first)}/${bits}`;
}

function addressOf(number: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256).join(".");
}

export function holdsRange(outer: string, inner: string): boolean {
  const [one, other] = [rangeOf(outer), rangeOf(inner)];
  return one.first <= other.first && one.last >= other.last;
}

export function overlap(left: string, right: string): boolean {
  const [one, other] = [rangeOf(left), rangeOf(right)];
  return one.first <= other.last && other.first <= one.last;
}

/** How many addresses a subnet can give out: EC2 keeps the first four and the last one. */
export function usableAddresses(cidr: string): number {
  const { first, last } = rangeOf(cidr);
  return last - first - 4;
}

/** The lowest address of a subnet that nobody has. Throws InsufficientFreeAddressesInSubnet. */
export function freeAddress(cidr: string, taken: ReadonlySet<string>): string {
  const { first, last } = rangeOf(cidr);
  for (let number = first + 4; number < last; number += 1) {
    const address = addressOf(number);
    if (!taken.has(address)) return address;
  }
  throw new ApiError(
    "InsufficientFreeAddressesInSubnet",
    "The specified subnet does not have enough free addresses to satisfy the request.",
  );
}
