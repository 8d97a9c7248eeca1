import {
  type FaultEffect,
  type FaultOrder,
  type FaultyRequest,
  meetFaults,
  type PlannedFault,
} from "./faults.js";

/** The faults that were ordered and are not used up. */
export class FaultPlan {
  private planned: readonly PlannedFault[] = [];
  private count = 0;

  /** Answers the fault's number. */
  add(order: FaultOrder): number {
    this.count += 1;
    this.planned = [...this.planned, { ...order, id: this.count, seen: 0 }];
    return this.count;
  }

  list(): readonly PlannedFault[] {
    return this.planned;
  }

  clear(): void {
    this.planned = [];
  }

  /** What goes wrong with a call; it counts for every fault that it fits. */
  meet(request: FaultyRequest): readonly FaultEffect[] {
    const { met, faults } = meetFaults(this.planned, request);
    this.planned = faults;
    return met;
  }
}
