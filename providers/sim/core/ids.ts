import { createHash } from "node:crypto";

/** Up to 64 hexadecimal digits, the same for the same seed and name, and otherwise as if drawn. Pure. */
export function seededDigits(seed: number, name: string, length: number): string {
  return createHash("sha256").update(`${seed}/${name}`).digest("hex").slice(0, length);
}
