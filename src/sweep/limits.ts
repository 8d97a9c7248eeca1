/** A younger resource may belong to something that is recorded in a moment. */
export const defaultGraceMinutes = 60;

/** More of all that is owned is not deleted unless a person allows it. */
export const defaultMaxSharePercent = 25;
