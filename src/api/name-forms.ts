// The forms of names as Kubernetes checks them: of objects, labels, annotations and taints.
// Source: https://kubernetes.io/docs/concepts/overview/working-with-objects/names/ and .../labels/#syntax-and-character-set

const label = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const subdomain = `${label}([.]${label})*`;
const word = "[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?";

/** Names that become DNS labels. Source: RFC 1123. */
export const dnsLabel = `^${label}$`;

/** A DNS name: labels with dots between. Source: RFC 1123. */
export const dnsSubdomain = `^${subdomain}$`;
export const maxSubdomainLength = 253;

/** The key of a label, an annotation or a taint, whatever the length of the DNS name before its slash. */
export const qualifiedName = `^(${subdomain}/)?${word}$`;

/** The value of a label or a taint. */
export const labelValue = `^(${word})?$`;
export const maxLabelLength = 63;

/** Whether a text can be the key of a label or of a taint. Pure. */
export function isQualifiedName(key: string): boolean {
  return new RegExp(qualifiedName).test(key) && key.indexOf("/") <= maxSubdomainLength;
}

/** Whether a text can be the value of a label or of a taint. Pure. */
export function isLabelValue(value: string): boolean {
  return new RegExp(labelValue).test(value);
}
