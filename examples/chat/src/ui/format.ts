const time = new Intl.DateTimeFormat(undefined, { hour: 'numeric', minute: '2-digit' })
const weekday = new Intl.DateTimeFormat(undefined, { weekday: 'short' })
const date = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' })
const longDate = new Intl.DateTimeFormat(undefined, {
  weekday: 'long',
  day: 'numeric',
  month: 'long',
})
const dayMs = 86_400_000

/** Returns the hour and minute. @param timestamp milliseconds since 1970 */
export function timeText(timestamp: number): string {
  return time.format(timestamp)
}

/** Returns the time today, the day this week, else the date. */
export function briefTime(timestamp: number, now = Date.now()): string {
  if (isSameDay(timestamp, now)) return time.format(timestamp)
  return (now - timestamp < 6 * dayMs ? weekday : date).format(timestamp)
}

/** Returns the day as the heading of its messages. */
export function dayText(timestamp: number, now = Date.now()): string {
  if (isSameDay(timestamp, now)) return 'Today'
  return isSameDay(timestamp, now - dayMs) ? 'Yesterday' : longDate.format(timestamp)
}

export function isSameDay(one: number, other: number): boolean {
  return new Date(one).toDateString() === new Date(other).toDateString()
}

/** Returns a size such as 12 KB. */
export function sizeText(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`
  const kilobytes = bytes / 1024
  return kilobytes < 1024 ? `${Math.round(kilobytes)} KB` : `${(kilobytes / 1024).toFixed(1)} MB`
}
