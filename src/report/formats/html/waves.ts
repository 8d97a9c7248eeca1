import type { NodeKey } from "../../../graph/graph.js";
import type { Plan } from "../../../plan/plan.js";
import type { Step } from "../../../plan/step.js";
import { verbOf } from "../../../plan/changes/tree.js";
import { undoNames } from "../../../plan/undo/undo-text.js";
import { withThousands } from "../../alike.js";
import { eachTime, lossyUndo, stepKinds, waveTitle } from "../../plan-rows.js";
import { alikeWaves } from "../../wave-runs.js";
import { html, type Markup, nothing } from "./markup.js";

/** More resources than these are folded. */
const shownAtOnce = 8;

/** What is done together, and in which order. Pure. */
export function waveList(plan: Plan): Markup {
  const steps = new Map(plan.steps.map(({ key, kind }) => [key, kind]));
  const kindOf = (key: NodeKey): Step["kind"] => steps.get(key) ?? "update";
  const runs = alikeWaves(plan.waves, kindOf).map(
    (run) =>
      html`<li>
        <h4>${waveTitle(run)}</h4>
        <p>${run.reason}</p>
        ${stepKinds.map((kind) => {
          const keys = run.keys.filter((key) => kindOf(key) === kind);
          return resources(keys, kind, eachTime(keys.length, run));
        })}
      </li>`,
  );
  return html`<ol class="waves">
    ${runs}
  </ol>`;
}

/** Steps that cannot be taken back exactly, by how and why. Pure. */
export function undoList(plan: Plan): Markup {
  const items = lossyUndo(plan).map(
    ({ class: found, reason, step, keys }) =>
      html`<li>
        <h4>${undoNames[found]}</h4>
        <p>${reason}</p>
        ${resources(keys, step)}
      </li>`,
  );
  return items.length === 0
    ? nothing
    : html`<ul class="waves">
        ${items}
      </ul>`;
}

function resources(keys: readonly NodeKey[], kind: Step["kind"], pace = ""): Markup {
  if (keys.length === 0) return nothing;
  const list = html`<ul class="keys">
    ${keys.map((key) => html`<li class="${kind}"><code>${key}</code></li>`)}
  </ul>`;
  const badge = html`<span class="badge ${kind}">${verbOf(kind)}</span>`;
  if (keys.length <= shownAtOnce) return html`<div class="step">${badge}${list}</div>`;
  return html`<details class="step">
    <summary>
      ${badge}${withThousands(keys.length)} resources${pace === "" ? "" : `, ${pace}`}
    </summary>
    ${list}
  </details>`;
}
