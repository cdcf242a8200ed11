import { encodeCursor, positionAfter } from './event-cursor.js'
import type { LoggedEvent } from './logged-event.js'

/** Returns an event as receivers and readers of the log get it. */
export function eventBody(event: LoggedEvent, epoch: string) {
  const { id, kind, createdAt, payload, appId, key } = event
  return {
    id,
    type: kind,
    timestamp: createdAt,
    app_id: appId,
    cursor: encodeCursor({ epoch, appId }, positionAfter(event)),
    key,
    data: payload,
  }
}
