/** What `capstan plan` prints. Apart from the renderers, which help does not need. */
export const planFormats = ["text", "markdown", "json", "mermaid", "html"] as const;
export type PlanFormat = (typeof planFormats)[number];

/** What `capstan diff` prints. */
export const diffFormats = ["text", "markdown", "json"] as const;
export type DiffFormat = (typeof diffFormats)[number];

/** What `capstan drift` prints. */
export const driftFormats = ["text", "markdown", "json"] as const;
export type DriftFormat = (typeof driftFormats)[number];
