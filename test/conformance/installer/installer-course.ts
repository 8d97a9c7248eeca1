import { CapstanError } from "../../../src/api/error.js";

/** Where the fault of a case strikes the product, and how. */
export interface StepFault {
  /** As `InstallerCourse` notes it: "up: begin". */
  readonly step: string;
  /**
   * fails: with an error; isNotRecorded: what it makes is made, and the state cannot be written from then on;
   * hasNoNamespace: as an API server answers; hasNoFolder: a file is where manifests go.
   */
  readonly how: "fails" | "isNotRecorded" | "hasNoNamespace" | "hasNoFolder";
  /** The command tries everything else, too, or takes back what it has done, before it fails. */
  readonly triesOn?: true;
}

/** What the commands of a case have come to, each step once, in the order in which they were first reached. */
export class InstallerCourse {
  readonly injected = new CapstanError({
    code: "API_SERVER",
    source: "engine",
    message: "injected error",
    retryable: true,
  });
  private steps = new Set<string>();
  /** The one that runs. */
  command = "";
  private faults: readonly StepFault[] = [];

  /** What came before does not count any more, and from now on there are these faults. */
  startOver(faults: readonly StepFault[]): void {
    this.steps = new Set();
    this.faults = faults;
  }

  /** Notes the step. Throws where it is to fail. */
  reach(step: string): void {
    const error = this.errorAt(step);
    if (error !== undefined) throw error;
  }

  /** Notes the step, and returns what it is to fail with. */
  errorAt(step: string): CapstanError | undefined {
    return this.isHit(step, "fails") ? this.injected : undefined;
  }

  /** Notes the step, and says whether the fault strikes there in that way. */
  isHit(step: string, how: StepFault["how"]): boolean {
    const full = `${this.command}: ${step}`;
    this.steps.add(full);
    return this.faults.some((fault) => fault.step === full && fault.how === how);
  }

  /** Whether some fault strikes in such a way, wherever. */
  isTo(how: StepFault["how"]): boolean {
    return this.faults.some((fault) => fault.how === how);
  }

  /** Whether the product has come as far as the fault, and not beyond what is tried in spite of it. */
  endsAt({ step, triesOn }: StepFault): boolean {
    if (triesOn !== true) return step === this.furthest;
    return this.steps.has(step) && commandOf(step) === commandOf(this.furthest);
  }

  /** The faults that are left once those are mended that were met. */
  mendMet(): readonly StepFault[] {
    this.faults = this.faults.filter(({ step }) => !this.steps.has(step));
    return this.faults;
  }

  /** The step that was reached last of those that were not reached before. */
  get furthest(): string {
    return [...this.steps].at(-1) ?? "nothing";
  }

  /** Nothing goes wrong any more. */
  mend(): void {
    this.faults = [];
  }
}

function commandOf(step: string): string {
  return step.slice(0, step.indexOf(":"));
}
