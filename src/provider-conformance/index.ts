// `capstan/provider/conformance`: what every provider must do, as cases for any test framework, and as a report.

export {
  badgeLine,
  type CaseReport,
  type ConformanceReport,
  reportText,
  runConformance,
} from "./report.js";
export {
  type Checked,
  type ConformanceCase,
  conformanceCases,
  type ConformanceOptions,
  type ConformanceProgress,
} from "./run.js";
export {
  type Blindness,
  ConformanceFailure,
  type ConformanceSubject,
  type KindFailure,
  type OlderSpecs,
  type Sample,
  steppingClock,
  type SteppingClock,
  type World,
  type WorldPower,
  type WorldPowers,
} from "./subject.js";
