import { wordFor } from "../../../api/counted.js";
import { contentHashOf } from "../../../api/digest.js";
import type { ChangeKind, Plan } from "../../../plan/plan.js";
import { createdInputs } from "../../created-inputs.js";
import { planNotes, revisionText, stageLines } from "../../../plan/changes/notes.js";
import { changeTree, planSummary, planTree, verbOf } from "../../../plan/changes/tree.js";
import { undoText } from "../../../plan/undo/undo-text.js";
import { withThousands } from "../../alike.js";
import { changeGraph } from "../../change-graph.js";
import {
  countChanges,
  countsText,
  type DestroyedCluster,
  hasChanges,
  hasPointOfNoReturn,
  type PlanReport,
  sumOfCounts,
} from "../../report.js";
import { changeList } from "./changes.js";
import { graphSvg } from "./graph-svg.js";
import { html, type Markup, nothing, trusted } from "./markup.js";
import { pageScript } from "./script.js";
import { pageStyle } from "./style.js";
import { undoList, waveList } from "./waves.js";

const kinds: readonly ChangeKind[] = ["create", "update", "replace", "delete", "same"];

/**
 * The plan as one page that asks for nothing else: it may not, by its own policy, and runs no script but
 * its own. Everything is in it, large things folded. Pure: no time, no random ids.
 */
export function planHtml(report: PlanReport): string {
  const policy = [
    "default-src 'none'",
    "img-src data:",
    `style-src '${contentHashOf(pageStyle)}'`,
    `script-src '${contentHashOf(pageScript)}'`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  const title = titleOf(report);
  const { plans, destroyed, release } = report;
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta http-equiv="Content-Security-Policy" content="${trusted(policy)}" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>Plan: ${title}</title>
        <link rel="icon" href="data:," />
        ${trusted(`<style>${pageStyle}</style>`)}
      </head>
      <body>
        <a class="skip" href="#changes">To the changes</a>
        <header>
          <div class="inner">
            <h1>${title}</h1>
            <p class="lead">${leadOf(report)}</p>
            ${tiles(report)}
          </div>
        </header>
        <main id="changes">
          ${destroyed.length === 0 ? nothing : destroyedCard(destroyed)}
          ${plans.length > 1 ? overview(plans) : nothing} ${filterForm(plans)}
          ${plans.map((plan) => clusterSection(plan, plans.length === 1))}
        </main>
        <footer><p>Made by capstan ${release}: ${againText(report)}</p></footer>
        ${trusted(`<script>${pageScript}</script>`)}
      </body>
    </html>`.html.concat("\n");
}

function titleOf({ plans, destroyed }: PlanReport): string {
  const [only] = plans;
  if (only !== undefined && plans.length + destroyed.length === 1) {
    return only.empty ? "No changes" : planSummary(only).replace(/^Plan: /, "");
  }
  const counts = countsText(sumOfCounts(plans.map(countChanges)));
  const gone = destroyed.length === 0 ? "" : `${clusterCount(destroyed.length)} to be destroyed`;
  return [counts, gone].filter((part) => part !== "").join("; ") || "No changes";
}

function leadOf(report: PlanReport): string {
  const [only] = report.plans;
  if (!hasChanges(report)) return "Objects, state and cloud agree.";
  if (only === undefined || report.plans.length > 1) return clusterCount(report.plans.length);
  return `Cluster ${only.cluster}, provider ${only.provider}, ${revisionText(only)}`;
}

function clusterCount(number: number): string {
  return `${withThousands(number)} ${wordFor(number, "cluster")}`;
}

const tileNames: Readonly<Record<ChangeKind, string>> = {
  create: "new",
  adopt: "adopted",
  import: "imported",
  update: "in place",
  replace: "replaced",
  forget: "forgotten",
  delete: "deleted",
  move: "moved",
  same: "unchanged",
  external: "external",
};

/** Machines and infrastructure by what becomes of them. A replaced one is a creation and a deletion. */
function tiles({ plans }: PlanReport): Markup {
  const lines = plans.flatMap(planTree);
  const waves = plans.reduce((total, one) => total + one.waves.length, 0);
  const tile = (number: number, what: string, name: string) =>
    html`<li class="${number === 0 ? "none" : name}">
      <b>${withThousands(number)}</b><span>${what}</span>
    </li>`;
  return html`<ul class="tiles">
    ${kinds.map((kind) =>
      tile(lines.filter((line) => line.kind === kind).length, tileNames[kind], kind),
    )}${tile(waves, wordFor(waves, "wave"), "waves")}
  </ul>`;
}

function destroyedCard(destroyed: readonly DestroyedCluster[]): Markup {
  return html`<div class="card call warn">
    <b>To be destroyed with all they own</b>
    <ul>
      ${destroyed.map(({ cluster }) => html`<li><code>${cluster}</code></li>`)}
    </ul>
  </div>`;
}

function overview(plans: readonly Plan[]): Markup {
  const heads = ["Create", "In place", "Delete", "Waves"];
  return html`<div class="card scroll">
    <table>
      <thead>
        <tr>
          <th>Cluster</th>
          <th>Revision</th>
          ${heads.map((head) => html`<th class="number">${head}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${plans.map(overviewRow)}
      </tbody>
    </table>
  </div>`;
}

function overviewRow(plan: Plan): Markup {
  const counts = countChanges(plan);
  const numbers = [counts.create, counts.update, counts.delete, plan.waves.length];
  return html`<tr>
    <td><a href="#${idOf(plan)}">${plan.cluster}</a></td>
    <td>${revisionText(plan).replace("revision ", "")}</td>
    ${numbers.map((number) => html`<td class="number">${withThousands(number)}</td>`)}
  </tr>`;
}

/** Stack names are made of letters, digits, dots and hyphens. */
function idOf({ stack }: Plan): string {
  return `stack-${stack}`;
}

/** Hidden until the script runs: without it nothing could be filtered. */
function filterForm(plans: readonly Plan[]): Markup {
  const present = new Set(plans.flatMap((plan) => planTree(plan).map(({ kind }) => kind)));
  const boxes = kinds
    .filter((kind) => present.has(kind))
    .map(
      (kind) =>
        html`<label class="${kind}"
          ><input type="checkbox" value="${kind}" checked />${verbOf(kind)}</label
        >`,
    );
  return html`<form class="filter" hidden role="search">
    <input
      type="search"
      placeholder="Filter: name, field, reason ( / )"
      aria-label="Filter the changes"
      autocomplete="off"
    />${boxes}<button type="button" data-fold="open">Unfold all</button
    ><button type="button" data-fold="close">Fold all</button><output aria-live="polite"></output>
  </form>`;
}

/** Folded: for whoever asks what new resources cost. */
function inputsCard(plan: Plan): Markup {
  const made = createdInputs(plan);
  if (made.length === 0) return nothing;
  return html`<div class="card">
    <h3>Inputs of what is new</h3>
    ${made.map(
      ({ label, inputs }) =>
        html`<details class="inputs">
          <summary>${label}</summary>
          <ul>
            ${inputs.map(({ path, value }) => html`<li><code>${path}</code> ${value}</li>`)}
          </ul>
        </details>`,
    )}
  </div>`;
}

/** What the page says of the only cluster at its top is not said again. */
function clusterSection(plan: Plan, isOnly: boolean): Markup {
  const id = idOf(plan);
  const undone = undoList(plan);
  return html`<section id="${id}">
    <h2>Cluster ${plan.cluster}</h2>
    ${isOnly ? nothing : html`<p class="about">${aboutText(plan)}</p>`} ${notesCard(plan)}
    <div class="card changes">
      <h3>Changes</h3>
      ${changeList(changeTree(plan))}
    </div>
    <div class="card">
      <h3>Graph</h3>
      <div class="scroll" tabindex="0" role="region" aria-label="Graph of ${plan.cluster}">
        ${graphSvg(changeGraph(plan), `${id}-graph`)}
      </div>
    </div>
    ${inputsCard(plan)}
    ${
      plan.waves.length === 0
        ? nothing
        : html`<div class="card">
            <h3>Waves</h3>
            ${waveList(plan)}
          </div>`
    }
    ${
      undone === nothing
        ? nothing
        : html`<div class="card">
            <h3>What cannot simply be taken back</h3>
            ${undone}
          </div>`
    }
  </section>`;
}

function aboutText(plan: Plan): string {
  return `provider ${plan.provider}, ${revisionText(plan)}. ${planSummary(plan)}`;
}

function notesCard(plan: Plan): Markup {
  const notes = [...planNotes(plan), ...stageLines(plan)];
  const undo = undoText(plan);
  if (undo === "" && notes.length === 0) return nothing;
  const isWarning = hasPointOfNoReturn(plan) || notes.length > 0;
  const list = html`<ul>
    ${notes.map((note) => html`<li>${note}</li>`)}
  </ul>`;
  return html`<div class="card call ${isWarning ? "warn" : ""}">
    ${undo}${notes.length === 0 ? nothing : list}
  </div>`;
}

function againText({ manifests }: PlanReport): string {
  return `capstan plan --format html ${manifests}`;
}
