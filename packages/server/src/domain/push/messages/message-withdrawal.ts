import { type Int64, pushDeliveryState } from '@hermod/protocol'
import type { EventPayloads } from '@hermod/protocol/events'
import type { Database } from '../../../db/database.js'
import type { Clock } from '../../../lib/clock.js'
import type { Suppression } from '../audience/recipient.js'
import { compareDeliveries, type DeliveryKey } from '../deliveries/delivery-model.js'
import { withSteps } from '../deliveries/delivery-step.js'
import type { DeliveryStore } from '../deliveries/delivery-store.js'
import type { TaskKey } from '../tasks/task-model.js'
import { finishedOf } from '../tasks/task-statements.js'
import type { TaskStore } from '../tasks/task-store.js'
import { messageLifetimeMs } from './message-push-service.js'
import type { ReadMessageStore } from './read-message-store.js'

export interface MessageWithdrawalOptions {
  readonly database: Database
  readonly tasks: TaskStore
  readonly deliveries: DeliveryStore
  readonly reads: ReadMessageStore
  readonly clock: Clock
}

const deliveriesPerTransaction = 250
/** A message that came while the user read everything may not be among what was read. */
const readAllMarginMs = 1_000

/** Withdraws pushes of messages that were recalled or read, unless they are sent. */
export class MessageWithdrawal {
  constructor(private readonly options: MessageWithdrawalOptions) {}

  /** Messages that were recalled. */
  async recalled(appId: string, messageIds: readonly Int64[]): Promise<void> {
    const { database, tasks } = this.options
    if (messageIds.length === 0) return
    const found = await database.read((db) => tasks.listOfMessages(db, appId, messageIds))
    for (const task of found) await this.#withdraw(task)
  }

  /** Withdraws the pushes of messages that their receivers have read. */
  async read(appId: string, events: readonly EventPayloads['message.read'][]): Promise<void> {
    const { database, reads } = this.options
    // Later ones have read what earlier ones have, and more.
    const latest = new Map(
      events.map((event) => {
        const { low_id, high_id } = event.conversation
        return [`${event.actor_id} ${low_id} ${high_id}`, event]
      }),
    )
    for (const { actor_id, conversation, msg_id } of latest.values()) {
      const keys = await database.read((db) =>
        reads.listPending(db, {
          appId,
          userId: actor_id,
          lowId: conversation.low_id,
          highId: conversation.high_id,
          upToId: msg_id,
        }),
      )
      await this.#suppress(keys, 'message_read')
    }
  }

  /** Messages of a user who has read everything. @param at when, milliseconds since 1970 */
  async readAll(appId: string, userId: Int64, at: number): Promise<void> {
    const { database, reads } = this.options
    // The task of a message expires a fixed time after the message was sent.
    const expiresBefore = at - readAllMarginMs + messageLifetimeMs
    for (;;) {
      const keys = await database.read((db) =>
        reads.listAllPending(db, { appId, userId, expiresBefore }, deliveriesPerTransaction),
      )
      await this.#suppress(keys, 'message_read')
      if (keys.length < deliveriesPerTransaction) return
    }
  }

  async #withdraw(task: TaskKey): Promise<void> {
    const { database, tasks, deliveries, clock } = this.options
    await database.transaction((tx) => tasks.cancel(tx, task, clock.now()))
    for (;;) {
      const keys = await database.read((db) =>
        deliveries.listPendingOf(db, task, deliveriesPerTransaction),
      )
      if (keys.length === 0) return
      await this.#suppress(keys, 'message_recalled')
    }
  }

  /** Deliveries that have ended stay as they are. */
  async #suppress(keys: readonly DeliveryKey[], reason: Suppression): Promise<void> {
    const { database, tasks, deliveries, clock } = this.options
    if (keys.length === 0) return
    const at = clock.now()
    await database.transaction(async (tx) => {
      const locked = await deliveries.lock(tx, [...keys].sort(compareDeliveries))
      const changed = locked
        .filter(({ state }) => state === pushDeliveryState.pending)
        .map((delivery) => ({
          ...delivery,
          state: pushDeliveryState.suppressed,
          steps: withSteps(delivery.steps, { at, step: 'suppressed', result: reason }),
        }))
      await deliveries.change(tx, changed)
      await tasks.addDevices(tx, finishedOf(changed))
    })
  }
}
