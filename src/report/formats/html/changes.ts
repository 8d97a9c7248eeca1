import { reasonText } from "../../../plan/plan.js";
import type { ChangedField } from "../../../plan/step.js";
import {
  type ChangeLine,
  type ChangeNode,
  shownValue,
  verbOf,
} from "../../../plan/changes/tree.js";
import {
  alikeNames,
  entryDetail,
  type Entry,
  firstLine,
  groupAlike,
  isMachineLine,
  machineName,
} from "../../alike.js";
import { html, type Markup, nothing } from "./markup.js";

/** The tree of changes as nested lists; machines that are changed alike are folded into one line. Pure. */
export function changeList({ children }: ChangeNode): Markup {
  const leaves = children.filter(({ line }) => line.kind !== "group").map(({ line }) => line);
  const groups = children.filter(({ line }) => line.kind === "group");
  return html`<ul class="tree">
    ${groupAlike(leaves).map(entry)}${groups.map(group)}
  </ul>`;
}

function group(node: ChangeNode): Markup {
  const { label, detail } = node.line;
  return html`<li class="group">
    <details open>
      <summary><b>${label}</b> <span class="scale">${detail}</span></summary>
      ${changeList(node)}
    </details>
  </li>`;
}

function entry(one: Entry): Markup {
  if (one.kind === "single") return leaf(one.line, true);
  const line = firstLine(one);
  return html`<li class="alike ${line.kind}">
    <details>
      <summary>
        ${badge(line)}<b class="name">Machines ${alikeNames(one.lines)}</b
        >${detail(line, entryDetail(one) === line.detail ? "" : "each of an older one")}
      </summary>
      <ul class="tree">
        ${one.lines.map((each) => leaf(each, false))}
      </ul>
    </details>
  </li>`;
}

/** Within lines that are alike only the names differ. */
function leaf(line: ChangeLine, isFull: boolean): Markup {
  const what = isMachineLine(line) ? "Machine" : (line.key?.split("/")[0] ?? "");
  const label = line.label.startsWith(`${what} `) ? line.label.slice(what.length + 1) : line.label;
  const name = isMachineLine(line) ? machineName(line) : label;
  const older = line.supersedes === undefined ? "" : `of ${line.supersedes}`;
  const kind = html`<span class="what">${what}</span> <b class="name">${name}</b>`;
  const rest = isFull ? html`${badge(line)}${kind}${detail(line, older)}` : short(name, older);
  return html`<li class="leaf ${line.kind}" data-kind="${line.kind}">${rest}</li>`;
}

function short(name: string, older: string): Markup {
  return html`<b class="name">${name}</b
    >${older === "" ? nothing : html` <span class="why">${older}</span>`}`;
}

function badge({ kind }: ChangeLine): Markup {
  return html`<span class="badge ${kind}">${verbOf(kind)}</span>`;
}

function detail({ changes, reasons }: ChangeLine, older: string): Markup {
  const why = [older, reasonText(reasons)].filter((part) => part !== "").join(": ");
  if (changes.length === 0 && why === "") return nothing;
  return html`<span class="detail"
    >${changes.map(field)}${why === "" ? nothing : html`<span class="why">${why}</span>`}</span
  >`;
}

function field({ path, from, to, reason, disruptive }: ChangedField): Markup {
  const told = reason ?? (disruptive && `disruptive: ${disruptive}`);
  const before = from === undefined ? nothing : html`<del>${shownValue(from, path)}</del>`;
  const after = to === undefined ? html`<ins>none</ins>` : html`<ins>${shownValue(to, path)}</ins>`;
  const arrow = from === undefined ? nothing : html`<span aria-label="becomes"> → </span>`;
  const why = told === undefined ? nothing : html` <span class="why">${told}</span>`;
  return html`<span class="field"><code>${path}</code> ${before}${arrow}${after}${why}</span>`;
}
