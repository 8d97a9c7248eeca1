import { timeText } from "../api/time-text.js";

/** "5s", "3m12s", "2h5m", "3d4h": the two largest units, as kubectl writes durations. */
export function durationText(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const [days, hours, minutes] = [86_400, 3_600, 60].map((unit) => Math.floor(seconds / unit));
  const parts: [number, string][] =
    (days ?? 0) > 0
      ? [
          [days ?? 0, "d"],
          [(hours ?? 0) % 24, "h"],
        ]
      : (hours ?? 0) > 0
        ? [
            [hours ?? 0, "h"],
            [(minutes ?? 0) % 60, "m"],
          ]
        : [
            [minutes ?? 0, "m"],
            [seconds % 60, "s"],
          ];
  const shown = parts.filter(([amount]) => amount > 0).map(([amount, unit]) => `${amount}${unit}`);
  return shown.join("") || "0s";
}

/** "2026-01-02T03:04:05Z (3m12s ago)". */
export function momentText(ms: number, nowMs: number): string {
  const moment = timeText(ms);
  return `${moment} (${durationText(nowMs - ms)} ago)`;
}
