import type { PlanFormat } from "./format-names.js";
import { planHtml } from "./html/page.js";
import { planDocument } from "./plan-json.js";
import { planMarkdown } from "./plan-markdown.js";
import { planMermaid } from "./plan-mermaid.js";
import type { PlanReport } from "../report.js";

/** Formats in which one run is one document. */
export type DocumentFormat = Exclude<PlanFormat, "text">;

/** One run's plans as one document that ends with a line end. Pure. */
export function renderReport(report: PlanReport, format: DocumentFormat): string {
  switch (format) {
    case "json":
      return `${JSON.stringify(planDocument(report), null, 2)}\n`;
    case "markdown":
      return planMarkdown(report);
    case "mermaid":
      return planMermaid(report.plans);
    case "html":
      return planHtml(report);
  }
}
