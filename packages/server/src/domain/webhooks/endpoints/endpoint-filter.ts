import type { Int64 } from '@hermod/protocol'
import type { LoggedEvent } from '../../events/logged-event.js'
import type { Endpoint } from './endpoint-model.js'

/** The members of payloads that name users and groups. */
interface Concerned {
  readonly actor_id?: Int64
  readonly user_ids?: readonly Int64[]
  readonly group_id?: Int64
  readonly sender_id?: Int64
  readonly conversation?: { readonly low_id: Int64; readonly high_id: Int64 }
}

/** Tests whether an event is sent to an endpoint. */
export function wantsEvent(
  { kinds, receivers, format }: Pick<Endpoint, 'kinds' | 'receivers' | 'format'>,
  { kind, payload }: Pick<LoggedEvent, 'kind' | 'payload'>,
): boolean {
  // The receiver has to know about a gap, whatever it wants.
  if (kind === 'events.missed') return format === 'standard'
  if (format === 'callback' && kind !== 'message.stored') return false
  if (kinds.length > 0 && !(kinds as readonly string[]).includes(kind)) return false
  return receivers.length === 0 || concernedBy(payload).some((id) => receivers.includes(id))
}

/** Returns the users and groups that an event concerns. */
function concernedBy(payload: LoggedEvent['payload']): Int64[] {
  const { actor_id, user_ids = [], group_id, sender_id, conversation } = payload as Concerned
  const single = [actor_id, group_id, sender_id, conversation?.low_id, conversation?.high_id]
  return [...single.filter((id) => id !== undefined), ...user_ids]
}
