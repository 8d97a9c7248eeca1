import { resolve } from "node:path";
import { counted } from "../../api/counted.js";
import { CapstanError } from "../../api/error.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import { stackNameOf } from "../../api/types.js";
import { buildController } from "../../controller/build-controller.js";
import type { Controller } from "../../controller/controller.js";
import type { ReconcileEvent, EventSink } from "../../controller/reconcile-event.js";
import { Engine } from "../../engine/pulumi/engine.js";
import { diagnosticText } from "../../manifest/diagnostic.js";
import { readSources } from "../../manifest/files.js";
import { followFiles } from "../../source/file-follower.js";
import type { PruneLimits } from "../../source/absences.js";
import { type FileNews, FileSource } from "../../source/file-source.js";
import { type CommandContext, openWorkspace } from "../context.js";
import { exitCodes } from "../exit.js";
import { areFromAmong, findGoneClusters, isAlsoFrom } from "../gone-clusters.js";
import { overridesOf, sourcesOf } from "../manifest-options.js";
import {
  allNotes,
  forgetManifests,
  forgetThese,
  notedManifests,
  rememberBegun,
  rememberManifests,
} from "../stack-settings.js";
import { watchLinesSink, tellLines } from "../watch-lines.js";
import { controllerSettings, type PruneFlags, type WatchOptions } from "./watch-options.js";

type GoneNews = Extract<FileNews, { kind: "gone" }>;
type HeldNews = Extract<FileNews, { kind: "held" }>;

/** capstan watch -f: keeps clusters as their manifests want them, until it is stopped. Needs no API server. */
export async function watchFiles(options: WatchOptions, context: CommandContext): Promise<number> {
  refuseUnfit(options);
  const { clock, interruption, providers } = context;
  const opened = await openWorkspace(options, context);
  const { workspace } = opened;
  const sources = sourcesOf(options, context.env);
  // Of any process before: what these manifests once held may be in them no more.
  const known = await findGoneClusters(
    [],
    sources,
    new Engine({ ...opened, providers, interruption }),
    allNotes(workspace),
    isAlsoFrom,
  );
  const source = new FileSource(
    omitUndefined({
      providers: providers.all,
      prune: pruneLimits(options),
      clock,
      read: () => readSources(options.file),
      overrides: overridesOf(options, context.env),
      known: known.map(({ cluster }) => cluster),
      isFromHere: (key) => areFromAmong(notedManifests(workspace, stackOf(key)), sources),
      leave: (key) => forgetThese(workspace, stackOf(key), sources),
      remember: (key, how) => {
        const note = how === "begun" ? rememberBegun : rememberManifests;
        note(workspace, stackOf(key), sources);
      },
      onChange: (key) => controller.onChange(key),
      tell: (news) => tellNews(news, options, context),
    }),
  );
  const tell = watchLinesSink(context);
  const sink: EventSink = (key, event) => {
    if (hasCommitted(event)) rememberManifests(workspace, stackOf(key), sources);
    if (event.kind === "destroyed") forgetManifests(workspace, stackOf(key));
    tell(key, event);
  };
  const settings = controllerSettings(options, context);
  const { controller }: { controller: Controller } = buildController(settings, {
    source,
    opened,
    sink,
    providers: providers.all,
  });
  tellBegin(options.file, context);
  const { periodMs } = settings;
  const ended = new AbortController();
  const signal = AbortSignal.any([interruption.stop, ended.signal]);
  await Promise.all([
    controller.run(signal).finally(() => ended.abort()),
    followFiles(source, { paths: options.file, clock, periodMs }, signal),
  ]);
  return exitCodes.done;
}

function pruneLimits({ prune, grace, maxShare }: PruneFlags): PruneLimits | undefined {
  return prune === true ? { graceMs: grace * 60_000, maxSharePercent: maxShare } : undefined;
}

/** Whether what the manifests say is the revision now. */
function hasCommitted(event: ReconcileEvent): boolean {
  if (event.kind !== "ended") return false;
  const { result } = event;
  return result.kind === "done" || (result.kind === "stopped" && result.result === "owing");
}

function stackOf(key: string): string {
  const [namespace = "", name = ""] = key.split("/");
  return stackNameOf({ metadata: { namespace, name } });
}

/** Throws BAD_USAGE for what makes no sense with files. */
function refuseUnfit({ file, metricsAddress, providers }: WatchOptions): void {
  if (file.includes("-")) {
    throw badUsage("cannot watch standard input: it is read once", {
      hint: "name files, folders or patterns with -f",
    });
  }
  if (providers !== undefined) {
    throw badUsage("--providers is for the objects of an API server, not for -f", {
      hint: "manifests in files may use every provider",
    });
  }
  if (metricsAddress === undefined) return;
  throw badUsage("--metrics-address is for the objects of an API server, not for -f", {
    hint: "--json tells everything that happens, a document a line",
  });
}

function badUsage(message: string, more: { readonly hint: string }): CapstanError {
  return new CapstanError({ code: "BAD_USAGE", source: "user", message, ...more });
}

function tellBegin(files: readonly string[], context: CommandContext): void {
  const paths = files.map((file) => resolve(file));
  if (context.json) context.emit({ type: "event", event: "watching", files: paths });
  else tellLines(context, `watching ${paths.join(", ")}`);
}

function tellNews(news: FileNews, flags: PruneFlags, context: CommandContext): void {
  if (context.json) context.emit(newsDocument(news, flags));
  else for (const text of newsTexts(news, flags)) tellLines(context, context.suggest(text));
}

/** Pure. */
function newsTexts(news: FileNews, flags: PruneFlags): string[] {
  switch (news.kind) {
    case "read":
      return [`read ${counted(news.objects, "object")} of ${counted(news.clusters, "cluster")}`];
    case "wrong":
      return [...news.diagnostics.map(diagnosticText), "everything stays as it was read before"];
    case "warnings":
      return news.diagnostics.map(diagnosticText);
    case "unreadable":
      return [news.message, "everything stays as it was read before"];
    case "gone":
      return [`${news.cluster}: is in these manifests no more, and ${goneText(news.fate, flags)}`];
    case "held":
      return heldTexts(news, flags);
  }
}

function goneText(fate: GoneNews["fate"], { grace }: PruneFlags): string {
  switch (fate) {
    case "left":
      return "is left alone; --prune takes it down";
    case "waiting":
      return `is taken down (--prune) unless it is back within ${grace} min (--grace)`;
    case "pruned":
      return "is taken down (--prune)";
  }
}

function heldTexts({ clusters, share }: HeldNews, { maxShare }: PruneFlags): string[] {
  const { toDelete, owned } = share;
  const [first = ""] = clusters;
  return [
    `${toDelete} of ${counted(owned, "cluster")} ${toDelete === 1 ? "is" : "are"} in these manifests no more: that is more than ${maxShare} % (--max-share), and an emptied file looks exactly like that`,
    `left alone: ${clusters.join(", ")}`,
    `hint: put them back; if they are to go, run capstan destroy ${stackOf(first)}, or watch with --max-share ${Math.ceil((toDelete * 100) / owned)}`,
  ];
}

function newsDocument(news: FileNews, { maxShare }: PruneFlags) {
  switch (news.kind) {
    case "wrong":
      return { type: "error", code: "INVALID_INPUT", diagnostics: news.diagnostics };
    case "unreadable":
      return { type: "error", code: "INVALID_INPUT", message: news.message };
    case "warnings":
      return { type: "warning", diagnostics: news.diagnostics };
    case "read":
      return { type: "event", event: "read", clusters: news.clusters, objects: news.objects };
    case "gone": {
      const { cluster, fate } = news;
      return { type: "event", event: "gone", cluster, pruned: fate === "pruned", fate };
    }
    case "held": {
      const { clusters, share } = news;
      return { type: "event", event: "held", clusters, ...share, maxSharePercent: maxShare };
    }
  }
}
