import type { StoredSettings } from '../../users/user-model.js'

/** Settings of a user that affect pushes. */
export type PushSettings = Pick<
  StoredSettings,
  | 'no_push'
  | 'no_push_detail'
  | 'no_push_start_hour'
  | 'no_push_end_hour'
  | 'silence_start_time'
  | 'silence_end_time'
>

/** Effect of the user's settings on a push at one time. */
export interface PushPreferences {
  /** Reason why nothing is sent, or null. */
  readonly suppressedBy: 'no_push' | 'quiet_hours' | null
  /** Arrives without sound and vibration. */
  readonly isSilent: boolean
  /** The push shows no details. */
  readonly hidesDetails: boolean
}

/**
 * Evaluates two windows of hours: no pushes in one, silent pushes in the other (rule D7).
 * @param at milliseconds since 1970
 * @param timeZone time zone of the application
 */
export function preferencesAt(
  settings: PushSettings,
  at: number,
  timeZone: string,
): PushPreferences {
  const isWithin = (start: number, end: number) =>
    start !== end && isHourWithin(hourIn(timeZone, at), start, end)
  const isQuiet = isWithin(settings.no_push_start_hour, settings.no_push_end_hour)
  return {
    suppressedBy: settings.no_push === 1 ? 'no_push' : isQuiet ? 'quiet_hours' : null,
    isSilent: isWithin(settings.silence_start_time, settings.silence_end_time),
    hidesDetails: settings.no_push_detail === 1,
  }
}

/** Tests `start` ≤ hour < `end`, across midnight when `end` is smaller. */
function isHourWithin(hour: number, start: number, end: number): boolean {
  return start < end ? start <= hour && hour < end : start <= hour || hour < end
}

/** One per time zone in use, since creating one is slow. */
const hourFormats = new Map<string, Intl.DateTimeFormat>()

/** Returns the local hour, 0 to 23: a repeated hour counts twice, a skipped one does not occur. */
function hourIn(timeZone: string, at: number): number {
  let format = hourFormats.get(timeZone)
  if (!format) {
    format = new Intl.DateTimeFormat('en', { timeZone, hour: '2-digit', hourCycle: 'h23' })
    hourFormats.set(timeZone, format)
  }
  return Number(format.format(at))
}
