/** The page's style sheet. Colours are given once for each scheme; everything else refers to them. */
export const pageStyle = `
:root {
  color-scheme: light dark;
  --page: #f6f7f9; --card: #ffffff; --line: #dfe3e8; --text: #1d232b; --quiet: #5c6672; --accent: #2458c5;
  --create: #167336; --create-soft: #e2f4e7; --update: #8a6100; --update-soft: #fff3d1;
  --replace: #7d32a8; --replace-soft: #f4e6fb; --delete: #b3261e; --delete-soft: #fde7e5;
  --same: #5d6671; --same-soft: #eef0f3; --shadow: 0 1px 2px rgb(20 30 50 / 6%), 0 2px 10px rgb(20 30 50 / 5%);
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #12151a; --card: #1a1f26; --line: #303843; --text: #e6eaf0; --quiet: #9aa5b3; --accent: #84aaff;
    --create: #5fd08a; --create-soft: #16331f; --update: #e8bd55; --update-soft: #37290a;
    --replace: #d59cf2; --replace-soft: #331c41; --delete: #ff8d84; --delete-soft: #40191a;
    --same: #94a0ae; --same-soft: #252b34; --shadow: none;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text); font: 15px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; }
main, header .inner, footer { max-width: 1120px; margin: 0 auto; padding: 0 20px; }
header { background: var(--card); border-bottom: 1px solid var(--line); padding: 26px 0 22px; }
h1 { margin: 0; font-size: 25px; line-height: 1.25; letter-spacing: -.01em; text-wrap: balance; }
h2 { margin: 40px 0 4px; font-size: 20px; overflow-wrap: anywhere; }
h3 { margin: 0 0 12px; font-size: 16px; }
h4 { margin: 0; font-size: 14px; }
p { margin: 0; }
.lead, .about, .why, .scale { color: var(--quiet); }
.lead { margin-top: 4px; }
.about { margin-bottom: 14px; overflow-wrap: anywhere; }
code, .name, .keys { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: 13px; }
a { color: var(--accent); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
.skip { position: absolute; left: -999px; }
.skip:focus { left: 12px; top: 8px; background: var(--card); padding: 6px 10px; }

.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(120px, 1fr)); gap: 12px; margin: 18px 0 0; padding: 0; list-style: none; }
.tiles li { border: 1px solid var(--line); border-top: 3px solid var(--tone, var(--line)); border-radius: 10px; padding: 9px 14px 10px; background: var(--card); }
.tiles b { display: block; font-size: 25px; line-height: 1.2; font-variant-numeric: tabular-nums; color: var(--tone, inherit); }
.tiles span { color: var(--quiet); font-size: 13px; }
.tiles .none { --tone: var(--line); } .tiles .none b { color: var(--quiet); }
.create { --tone: var(--create); --soft: var(--create-soft); } .update { --tone: var(--update); --soft: var(--update-soft); }
.replace { --tone: var(--replace); --soft: var(--replace-soft); } .delete { --tone: var(--delete); --soft: var(--delete-soft); }
.same { --tone: var(--same); --soft: var(--same-soft); }

.card { background: var(--card); border: 1px solid var(--line); border-radius: 12px; box-shadow: var(--shadow); padding: 18px 20px; margin: 0 0 16px; }
.call { border-left: 4px solid var(--tone, var(--create)); padding: 11px 16px; overflow-wrap: anywhere; }
.call.warn { --tone: var(--update); background: var(--update-soft); }
.call ul { margin: 4px 0 0; padding-left: 20px; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 7px 10px; border-bottom: 1px solid var(--line); white-space: nowrap; }
td.number, th.number { text-align: right; } tr:last-child td { border-bottom: 0; }
th { color: var(--quiet); font-weight: 600; font-size: 13px; }

.filter { position: sticky; top: 0; z-index: 2; display: flex; flex-wrap: wrap; gap: 8px; align-items: center; background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 10px 12px; margin: 18px 0; box-shadow: var(--shadow); }
.filter[hidden] { display: none; }
.filter input[type=search] { flex: 1 1 190px; min-width: 0; font: inherit; color: inherit; background: var(--page); border: 1px solid var(--line); border-radius: 8px; padding: 7px 11px; }
.filter label { display: inline-flex; gap: 6px; align-items: center; border: 1px solid var(--line); border-radius: 99px; padding: 3px 11px 3px 8px; font-size: 13px; cursor: pointer; }
.filter label:has(:checked) { color: var(--tone); background: var(--soft); border-color: var(--tone); }
.filter input[type=checkbox] { accent-color: var(--tone); margin: 0; }
.filter button { font: inherit; font-size: 13px; color: inherit; background: none; border: 1px solid var(--line); border-radius: 8px; padding: 4px 10px; cursor: pointer; }
.filter output { flex: 1 0 100%; color: var(--quiet); font-size: 13px; font-variant-numeric: tabular-nums; }

ul.tree { list-style: none; margin: 0; padding: 0; }
ul.tree ul.tree { margin: 2px 0 6px 9px; padding-left: 15px; border-left: 1px solid var(--line); }
.tree li { padding: 3px 0; } .tree li[hidden] { display: none; }
.tree .leaf, .alike > details > summary { overflow-wrap: anywhere; }
.alike .tree { max-height: 360px; overflow: auto; content-visibility: auto; }
.alike .tree .leaf { padding: 1px 0; }
summary { cursor: pointer; padding: 2px 0; }
.badge { display: inline-block; min-width: 86px; margin-right: 10px; border-radius: 6px; padding: 1px 8px; font-size: 12.5px; font-weight: 600; color: var(--tone); background: var(--soft); white-space: nowrap; }
.what { color: var(--quiet); font-size: 13px; }
.name { font-weight: 600; }
.same .name { font-weight: 400; color: var(--quiet); }
.detail { margin-left: 10px; font-size: 13.5px; }
.field { margin-right: 14px; }
del { color: var(--delete); background: var(--delete-soft); text-decoration: line-through; border-radius: 4px; padding: 0 4px; }
ins { color: var(--create); background: var(--create-soft); text-decoration: none; border-radius: 4px; padding: 0 4px; }

.graph { display: block; font: 12px system-ui, sans-serif; max-width: 100%; min-width: 640px; height: auto; }
.graph rect { fill: var(--soft); stroke: var(--tone); stroke-opacity: .55; }
.graph .edge { fill: var(--tone); stroke: none; }
.graph text { fill: var(--text); } .graph .what { fill: var(--quiet); font-size: 11px; }
.graph .name { font-size: 12.5px; font-weight: 600; } .graph .verb { fill: var(--tone); font-size: 11.5px; font-weight: 600; }
.arrows path { fill: none; stroke: var(--quiet); stroke-opacity: .5; stroke-width: 1.3; } .graph .tip { fill: var(--quiet); stroke: none; }

.waves { list-style: none; margin: 0; padding: 0; }
.waves > li { position: relative; padding: 0 0 16px 26px; border-left: 2px solid var(--line); margin-left: 7px; }
.waves > li:last-child { border-color: transparent; padding-bottom: 0; }
.waves > li::before { content: ""; position: absolute; left: -8px; top: 4px; width: 14px; height: 14px; border-radius: 50%; background: var(--card); border: 3px solid var(--accent); }
.waves p { color: var(--quiet); font-size: 13.5px; margin-bottom: 6px; overflow-wrap: anywhere; }
.step { margin: 4px 0; } div.step { display: flex; align-items: baseline; }
.keys { list-style: none; margin: 0; padding: 0; display: flex; flex-wrap: wrap; gap: 2px 16px; overflow-wrap: anywhere; }
details .keys { margin: 6px 0 4px 16px; max-height: 320px; overflow: auto; content-visibility: auto; }
footer { color: var(--quiet); font-size: 13px; padding-top: 12px; padding-bottom: 40px; overflow-wrap: anywhere; }
@media (max-width: 600px) {
  main, header .inner, footer { padding-left: 14px; padding-right: 14px; }
  h1 { font-size: 21px; }
  .tiles { grid-template-columns: repeat(3, 1fr); gap: 8px; } .tiles li { padding: 7px 10px; } .tiles b { font-size: 20px; }
  .card { padding: 14px; } .detail { display: block; margin: 1px 0 3px; }
  .tree .leaf > .badge { margin-right: 6px; } ul.tree ul.tree { margin-left: 3px; padding-left: 10px; }
  .filter { position: static; }
}
@media print { .filter { display: none; } .card { box-shadow: none; break-inside: avoid; } }
`;
