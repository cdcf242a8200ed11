import type { EventKind, EventPayloads } from '@hermod/protocol/events'
import type { Consumer, DeliveredEvent } from '../../../outbox/consumer.js'
import type { KnownCertificates } from '../certificates/certificate-model.js'
import type { MessagePushService } from './message-push-service.js'
import type { MessageWithdrawal } from './message-withdrawal.js'

interface MessagePushConsumerOptions {
  readonly certificates: KnownCertificates
  readonly messages: MessagePushService
  readonly withdrawal: MessageWithdrawal
}

/** Follows what happens to messages, for the pushes to those who are away. */
export class MessagePushConsumer implements Consumer {
  readonly name = 'push'

  constructor(private readonly options: MessagePushConsumerOptions) {}

  /** An application without certificates can push nothing. */
  async needs(appId: string): Promise<boolean> {
    return (await this.options.certificates.of(appId)).length > 0
  }

  /** The events are of one application. */
  async handle(events: readonly DeliveredEvent[], signal: AbortSignal): Promise<void> {
    const [first] = events
    if (!first) return
    const { appId } = first
    const { messages, withdrawal } = this.options
    // A message that is being written is pushed once it has its text (rule E19).
    const stored = payloadsOf(events, 'message.stored')
    const pushed = [
      ...stored.filter(({ stream }) => stream?.state !== 'open'),
      ...payloadsOf(events, 'message.stream_ended'),
    ]
    await messages.push(appId, pushed, signal)
    await withdrawal.recalled(
      appId,
      payloadsOf(events, 'message.recalled').map(({ msg_id }) => msg_id),
    )
    await withdrawal.read(appId, payloadsOf(events, 'message.read'))
    for (const { kind, payload, createdAt } of events)
      if (kind === 'message.read_all') await withdrawal.readAll(appId, payload.actor_id, createdAt)
  }

  /** Events that are no longer kept are not pushed. */
  async missed(): Promise<void> {}
}

function payloadsOf<Kind extends EventKind>(
  events: readonly DeliveredEvent[],
  kind: Kind,
): EventPayloads[Kind][] {
  return events.flatMap((event) =>
    event.kind === kind ? [event.payload as EventPayloads[Kind]] : [],
  )
}
