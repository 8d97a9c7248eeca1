/** How long a transaction may take unless somebody says otherwise. */
export const defaultDeadlineMs = 3_600_000;
