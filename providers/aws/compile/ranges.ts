/** Ranges of one zone's subnets. */
interface ZoneRanges {
  readonly private: string;
  readonly public: string;
}

/** Of the VPC that is made where nobody says another one. */
export const defaultVpcRange = "10.0.0.0/16";

/** Zones that a VPC's range has room for: seven eighths of it are for private subnets, and six of these are used. */
const mostZones = 6;

/**
 * The ranges of the `index`th zone in a VPC's: an eighth of it for the private subnet, and an eighth of the last eighth for
 * the public one, so that another zone can be added and moves nothing. Pure. `vpc` is an IPv4 range of /16 to /22.
 */
export function zoneRanges(vpc: string, index: number): ZoneRanges {
  if (index >= mostZones) throw new Error(`a VPC has room for ${mostZones} zones`);
  const [address = "", length = ""] = vpc.split("/");
  const base = numberOf(address);
  const bits = Number(length);
  const eighth = 2 ** (32 - bits - 3);
  return {
    private: `${textOf(base + index * eighth)}/${bits + 3}`,
    public: `${textOf(base + 7 * eighth + (index * eighth) / 8)}/${bits + 6}`,
  };
}

function numberOf(address: string): number {
  return address.split(".").reduce((sum, byte) => sum * 256 + Number(byte), 0);
}

function textOf(address: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256).join(".");
}

/** Whether an IPv4 address is in a range. Pure. */
export function isInRange(address: string, range: string): boolean {
  const [from = "", length = "32"] = range.split("/");
  const size = 2 ** (32 - Number(length));
  return Math.floor(numberOf(address) / size) === Math.floor(numberOf(from) / size);
}
