import type { StoredSettings } from '../../users/user-model.js'

/** What of a user's settings says how pushes reach the user. */
export type PushSettings = Pick<
  StoredSettings,
  | 'no_push'
  | 'no_push_detail'
  | 'no_push_start_hour'
  | 'no_push_end_hour'
  | 'silence_start_time'
  | 'silence_end_time'
>

/** What the user's own settings make of a push at one time. */
export interface PushPreferences {
  /** Why nothing is sent; null: it is. */
  readonly suppressedBy: 'no_push' | 'quiet_hours' | null
  /** Arrives without sound and vibration. */
  readonly isSilent: boolean
  /** Says that something came, not what. */
  readonly hidesDetails: boolean
}

/**
 * Two windows of hours: none is pushed in the one, pushes are silent in the other (rule D7).
 * @param at milliseconds since 1970
 * @param timeZone of the application
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

/** From `start` on and before `end`, over midnight where `end` is the smaller one. */
function isHourWithin(hour: number, start: number, end: number): boolean {
  return start < end ? start <= hour && hour < end : start <= hour || hour < end
}

/** One for each time zone that an application has named; making one is slow. */
const hourFormats = new Map<string, Intl.DateTimeFormat>()

/** What the clocks show there, 0 to 23: an hour that comes twice is twice the same, one that is skipped does not come. */
function hourIn(timeZone: string, at: number): number {
  let format = hourFormats.get(timeZone)
  if (!format) {
    format = new Intl.DateTimeFormat('en', { timeZone, hour: '2-digit', hourCycle: 'h23' })
    hourFormats.set(timeZone, format)
  }
  return Number(format.format(at))
}
