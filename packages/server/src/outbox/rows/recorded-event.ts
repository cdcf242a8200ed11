import type { ChangeableField } from '@hermod/protocol'
import type { Event, EventKind, EventPayloads } from '@hermod/protocol/events'

/** The kinds of events whose message is read when they are delivered. */
export type EditEventKind = 'message.appended' | 'message.replaced' | 'message.stream_ended'

/** An edit as the outbox has it: the message is read when the event is delivered. */
export interface RecordedEdit {
  readonly kind: EditEventKind
  readonly appId: string
  readonly payload: Pick<
    EventPayloads[EditEventKind],
    'actor_id' | 'user_ids' | 'conversation' | 'msg_id' | 'seq'
  >
}

/** A change of fields as the outbox has it: their values are read when the event is delivered. */
export interface RecordedUpdate {
  readonly kind: 'message.updated'
  readonly appId: string
  readonly payload: Omit<EventPayloads['message.updated'], 'set'> & {
    readonly fields: readonly ChangeableField[]
  }
}

/** An event as the outbox has it. */
export type RecordedEvent = (
  | Exclude<Event, { readonly kind: EditEventKind }>
  | RecordedEdit
  | RecordedUpdate
) & {
  /** The change number in the log of its conversation; absent: it changes no log. */
  readonly change?: number
}

/** Tests whether the message of an event of the kind is read when the event is delivered. */
export function isEdit(kind: EventKind): kind is EditEventKind {
  return (
    kind === 'message.appended' || kind === 'message.replaced' || kind === 'message.stream_ended'
  )
}

/** The text of the payload; its member `change` is not the event's own, but the number. */
export function toPayloadText({ payload, change }: RecordedEvent): string {
  return JSON.stringify(change === undefined ? payload : { ...payload, change })
}
