/**
 * A rule that an API server checks in the Common Expression Language: one of
 * `x-kubernetes-validations`. A rule that names `oldSelf` holds for updates only.
 */
export interface CelRule {
  readonly rule: string;
  readonly message: string;
  /** The member that is wrong, from where the rule stands. */
  readonly fieldPath?: string;
}

/** What a broken rule is told with: the CLI shows two lines, an API server one. */
export interface RuleWords {
  readonly summary: string;
  readonly hint: string;
}

/** "both value and valueFrom are set; the provider's object stands in value, ...". */
export function oneLine({ summary, hint }: RuleWords): string {
  return `${summary}; ${hint}`;
}

/** A text as CEL writes it; the escapes of JSON are CEL's too. */
export function celText(text: string): string {
  return JSON.stringify(text);
}
