// `capstan/provider/conformance`: what every provider must do, as cases for any test framework.

import { messageOf } from "../api/error.js";
import {
  deleteTwice,
  identity,
  inPlaceChange,
  inventory,
  lettingGo,
  ownedByAll,
  readiness,
  replacement,
} from "./change.js";
import {
  createOnce,
  emptyPlan,
  findOrCreate,
  foreignResource,
  laggingListing,
  lostAnswer,
  spentToken,
  unknownPresence,
} from "./creation.js";
import { findById, marking } from "./import.js";
import { compileIsPure, generationIsStable, schemasAreClosed, verdictIsPure } from "./pure.js";
import { Rig } from "./rig.js";
import { userDataTerms } from "./user-data.js";
import { conversions } from "./versions.js";
import { type ConformanceCase, ConformanceFailure, type ConformanceSubject } from "./subject.js";

export {
  type ConformanceCase,
  ConformanceFailure,
  type ConformanceSubject,
  type OlderSpecs,
  type Sample,
  steppingClock,
  type World,
} from "./subject.js";

/**
 * The cases for one provider, in a fixed order, each on a world of its own. Register them with any
 * framework: `for (const { name, run } of conformanceCases(subject)) it(name, run)`.
 */
export function conformanceCases(subject: ConformanceSubject): ConformanceCase[] {
  const works: Readonly<Record<string, (rig: Rig) => Promise<void>>> = {
    "finds its own resource instead of making a second one": findOrCreate,
    "makes one resource of one token": createOnce,
    "never brings a removed resource back": spentToken,
    "adopts what a create made whose answer was lost": lostAnswer,
    "makes no duplicate while listings lag": laggingListing,
    "shows what it made as it was asked for": emptyPlan,
    "changes in place, on the same host": (rig) => inPlaceChange(rig, subject.inPlace),
    "replaces by a new host beside the old one": (rig) => replacement(rig, subject.replacing),
    "says since when a host is ready and what its node runs, or nothing": readiness,
    "deletes twice without an error": deleteTwice,
    "lets go of what it made, or cannot": lettingGo,
    "finds a host by its id alone, whosever it is, or cannot": findById,
    "puts marks on what bears none, and nothing else, or cannot": marking,
    "leaves what is not ours alone": foreignResource,
    "does not guess when the cloud gives no answer": unknownPresence,
    "lists all that carries its marks, and nothing else": inventory,
    "lists what every cluster owns, with its age where it tells one": ownedByAll,
    "tells which cloud it is, the same each time, or nothing at all": identity,
    "judges changes purely, and the same each time": (rig) => verdictIsPure(rig, subject),
    "names generations by what cannot change in place": (rig) => generationIsStable(rig, subject),
    "compiles purely, each machine for itself": compileIsPure,
    "refuses fields that it does not know": schemasAreClosed,
    "converts what is written in its older versions": (rig) => conversions(rig, subject),
    "says what its hosts take at their first start, or nothing": userDataTerms,
  };
  return Object.entries(works).map(([name, work]) => ({
    name,
    run: () => Rig.use(subject, (rig) => work(rig).catch((error: unknown) => fail(name, error))),
  }));
}

/** What the product itself cannot do with a provider is a failure of the provider too. */
function fail(name: string, error: unknown): never {
  if (error instanceof ConformanceFailure) throw error;
  const message = `a provider must be one that ${name}: ${messageOf(error)}`;
  throw new ConformanceFailure(message, { cause: error });
}
