/** Bodies of requests to endpoints. */
import { contentType, meaningsOf } from '@hermod/protocol'
import type { EventPayloads } from '@hermod/protocol/events'
import { eventBody } from '../domain/events/event-body.js'
import type { LoggedEvent } from '../domain/events/logged-event.js'
import { stringifyJson } from '../lib/json.js'

/** Returns the body of the format `standard`: an event, or a list of events. */
export function standardBody(
  events: readonly LoggedEvent[],
  { epoch, isBatch }: { readonly epoch: string; readonly isBatch: boolean },
): string {
  const bodies = events.map((event) => eventBody(event, epoch))
  return stringifyJson(isBatch ? bodies : bodies[0])
}

const contentTypes = meaningsOf(contentType)

/**
 * Returns the body of the format `callback`, the form of earlier systems, which has messages only.
 * @returns null for any other event
 */
export function callbackBody({ kind, appId, payload }: LoggedEvent): string | null {
  if (kind !== 'message.stored') return null
  const message = payload as unknown as EventPayloads['message.stored']
  const { conversation, sender_id, msg_id, content_type, content, ext, is_system } = message
  const { low_id, high_id, is_group } = conversation
  const receiver = is_group || low_id < 0 ? high_id : low_id === sender_id ? high_id : low_id
  return stringifyJson({
    appId,
    msgId: msg_id,
    from: { uid: sender_id },
    to: { uid: low_id < 0 ? 0 : receiver },
    type: is_group ? 'GROUPCHAT' : is_system ? 'OPER' : low_id < 0 ? 'NORMAL' : 'CHAT',
    ctype: contentTypes[content_type] ?? 'TEXT',
    content,
    ext,
  })
}
