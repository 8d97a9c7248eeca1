// What a request's signature tells. It is not verified: the simulator has no secrets.

/** Who signed, where for, and for which service. */
interface Signature {
  readonly accessKey: string;
  readonly region: string;
  readonly service: string;
}

/** From the header Authorization of version 4, or the query of a presigned address. undefined: not signed. Pure. */
export function signatureOf(
  authorization: string | undefined,
  query: URLSearchParams,
): Signature | undefined {
  const [, inHeader] = /\bCredential=([^,\s]+)/.exec(authorization ?? "") ?? [];
  const credential = inHeader ?? query.get("X-Amz-Credential") ?? "";
  const parts = credential.split("/");
  const [service = "", region = ""] = [parts.at(-2), parts.at(-3)];
  const accessKey = parts.slice(0, -4).join("/");
  return parts.length < 5 ? undefined : { accessKey, region, service };
}
