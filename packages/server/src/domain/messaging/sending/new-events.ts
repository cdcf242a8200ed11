import type { DeliveredEvent } from '../../../outbox/consumer.js'
import { toEventMessage } from '../model/event-message.js'
import { rowValue } from '../model/message-model.js'
import type { BatchOfSends, StoredBatch, Submission } from './batch-model.js'

/** The events of one row of the outbox. */
export interface NewEvents {
  readonly appId: string
  readonly position: number
  readonly events: DeliveredEvent[]
}

/** The events of a stored batch by row of the outbox, in order within each conversation. */
export function newEvents(
  { submissions, now }: Pick<BatchOfSends, 'submissions' | 'now'>,
  { messageIds, numbers }: Pick<StoredBatch, 'messageIds' | 'numbers'>,
): NewEvents[] {
  const rows = new Map<string, NewEvents>()
  for (const [index, submission] of submissions.entries())
    for (const { appId, event } of eventsOf(submission, {
      now,
      messageIds: messageIds[index] ?? [],
      numbers: numbers[index] ?? [],
    })) {
      const { position } = event
      const key = `${position} ${appId}`
      const row = rows.get(key)
      if (row) row.events.push(event)
      else rows.set(key, { appId, position, events: [event] })
    }
  return [...rows.values()].sort((a, b) => a.position - b.position)
}

function eventsOf(
  { rows, groups }: Submission,
  {
    now,
    messageIds,
    numbers,
  }: Pick<BatchOfSends, 'now'> & {
    readonly messageIds: StoredBatch['messageIds'][number]
    readonly numbers: NonNullable<StoredBatch['numbers'][number]>
  },
): { readonly appId: string; readonly event: DeliveredEvent }[] {
  return numbers.map(({ position, seq, change }, index) => {
    const row = rows[index] ?? []
    const conversation = { ...rowValue.conversation(row), isGroup: groups !== undefined }
    const { appId } = conversation
    const messageId = messageIds[index] ?? 0
    const payload = toEventMessage(conversation, { ...rowValue.stored(row), messageId, seq })
    const event = {
      kind: 'message.stored',
      appId,
      payload,
      id: `${position}.${messageId}`,
      position,
      change,
      createdAt: now,
    } as const
    return { appId, event }
  })
}
