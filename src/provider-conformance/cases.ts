import { takesAlternatives } from "./alternatives.js";
import { deniedLooks, partialAnswers, unknownPresence } from "./blindness.js";
import {
  deleteTwice,
  identity,
  inPlaceChange,
  inventory,
  lettingGo,
  ownedByAll,
  readiness,
  replacement,
  updates,
} from "./change.js";
import { conflictingChanges } from "./conflicts.js";
import {
  createOnce,
  emptyPlan,
  findOrCreate,
  foreignResource,
  laggingListing,
  lostAnswer,
  memberPlan,
  spentToken,
} from "./creation.js";
import { everyDomain } from "./domains.js";
import { judgesAtAnyTime, seesEachField } from "./fields.js";
import { findById, marking } from "./import.js";
import { looksUpTheSame, readsWhatIsNotOurs } from "./looking.js";
import {
  checksEngine,
  endsAtOnce,
  resumesUpdates,
  stopsChanging,
  survivesKill,
  tellsRefusals,
} from "./interruption.js";
import { longestNames } from "./longest-names.js";
import { leavesNamesakes } from "./namesakes.js";
import { forgottenOperations, refusedRemovals, tellsOperations } from "./operations.js";
import { showsChanged, showsKilled, showsStopped } from "./outside.js";
import { deletesItsOwn, locateByMarks, tellsOfTwins } from "./ownership.js";
import { listsAllPages } from "./pages.js";
import { leavesNothing } from "./parts.js";
import { compileIsPure, generationIsStable, schemasAreClosed, verdictIsPure } from "./pure.js";
import type { Rig } from "./rig.js";
import { keepsSecrets } from "./secrets.js";
import { userDataTerms } from "./user-data.js";
import { conversions } from "./versions.js";
import { changesDoNotWait, createDoesNotWait } from "./waiting.js";

type Work = (rig: Rig) => Promise<void>;

/** One thing that every provider must do. */
export interface CaseDefinition {
  readonly name: string;
  /** Each kind of the provider on a world of its own, or hosts and the provider as a whole, on one. */
  readonly each: "kind" | "provider";
  readonly work: Work;
}

const ofKinds: Readonly<Record<string, Work>> = {
  "finds its own resource instead of making a second one": findOrCreate,
  "makes one resource of one token": createOnce,
  "adopts what a create made whose answer was lost": lostAnswer,
  "makes no duplicate while listings lag": laggingListing,
  "tells what became of what its cloud has accepted, or makes at once": tellsOperations,
  "reports a forgotten operation as over": forgottenOperations,
  "reports a removal that the cloud refuses after it has accepted it": refusedRemovals,
  "makes a change in place, all of it, and shows it": updates,
  "deletes twice without an error": deleteTwice,
  "deletes by id, and nothing of the same name": deletesItsOwn,
  "lets go of what it made, or cannot": lettingGo,
  "finds a host by its id alone, whosever it is, or cannot": findById,
  "puts marks on what bears none, and nothing else, or cannot": marking,
  "reads what is not ours without changing it, or cannot": readsWhatIsNotOurs,
  "leaves what is not ours alone": foreignResource,
  "finds by its marks what bears them, and nothing of the same name": locateByMarks,
  "leaves another owner's resource of the same name alone": leavesNamesakes,
  "keeps resources apart whose longest names differ in the last character": longestNames,
  "answers many where several bear the same marks": tellsOfTwins,
  "does not guess when the cloud gives no answer": unknownPresence,
  "does not take a refused look for absence": deniedLooks,
  "does not take an incomplete answer for a complete one": partialAnswers,
  "lists all that carries its marks, and nothing else": inventory,
  "lists a thousand resources, and finds each of them": listsAllPages,
  "shows what somebody has changed in the cloud": showsChanged,
  "shows as gone what somebody has deleted": showsKilled,
  "makes sure that its engine lives before each further change of a call": checksEngine,
  "begins no further change after an interrupt": stopsChanging,
  "gives up at once when it is interrupted while the cloud does not answer": endsAtOnce,
  "leaves nothing that nobody finds, whenever it is killed": survivesKill,
  "leaves no part of a removed resource behind": leavesNothing,
  "finishes a change in place that was killed, toward what was wanted and back": resumesUpdates,
  "says so when the cloud refuses a change": tellsRefusals,
  "loses no change to a concurrent one": conflictingChanges,
  "answers an update and a removal once the cloud has accepted them": changesDoNotWait,
  "sees every field of a spec that differs": seesEachField,
  "keeps what its secret fields hold out of all else that it shows": keepsSecrets,
  "judges and names the same at any time": judgesAtAnyTime,
};

const ofProvider: Readonly<Record<string, Work>> = {
  "never brings a removed resource back": spentToken,
  "shows what it made as it was asked for": emptyPlan,
  "shows a control-plane member as it was asked for": memberPlan,
  "lists and finds hosts in every failure domain": everyDomain,
  "changes in place, on the same host": (rig) => inPlaceChange(rig, rig.subject.inPlace),
  "replaces by a new host beside the old one": (rig) => replacement(rig, rig.subject.replacing),
  "makes another host where there is no room for the one that is asked for, or cannot":
    takesAlternatives,
  "answers a create as soon as there is an id": createDoesNotWait,
  "says since when a host is ready and what its node runs, or nothing": readiness,
  "never shows a stopped host as ready": showsStopped,
  "lists what every cluster owns, with its age where it tells one": ownedByAll,
  "tells which cloud it is, the same each time, or nothing at all": identity,
  "looks up the same as long as nothing changes, and only reads": looksUpTheSame,
  "judges changes purely, and the same each time": (rig) => verdictIsPure(rig, rig.subject),
  "names generations by what cannot change in place": (rig) => generationIsStable(rig, rig.subject),
  "compiles purely, each machine for itself": compileIsPure,
  "refuses fields that it does not know": schemasAreClosed,
  "converts what is written in its older versions": (rig) => conversions(rig, rig.subject),
  "says what its hosts take at their first start, or nothing": userDataTerms,
};

/** All cases, in a fixed order. */
export const caseDefinitions: readonly CaseDefinition[] = [
  ...Object.entries(ofKinds).map(([name, work]) => ({ name, each: "kind" as const, work })),
  ...Object.entries(ofProvider).map(([name, work]) => ({ name, each: "provider" as const, work })),
];
