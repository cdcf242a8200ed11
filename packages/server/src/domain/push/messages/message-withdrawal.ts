import { type Int64, pushDeliveryState } from '@hermod/protocol'
import type { EventPayloads } from '@hermod/protocol/events'
import type { Database, Queryable } from '../../../db/database.js'
import type { Clock } from '../../../lib/clock.js'
import type { BadgeChange } from '../../../push/notification.js'
import { subtractFromBadges } from '../../users/user-statements.js'
import type { Suppression } from '../audience/recipient.js'
import { compareDeliveries, type DeliveryKey } from '../deliveries/delivery-model.js'
import { withSteps } from '../deliveries/delivery-step.js'
import type { DeliveryStore } from '../deliveries/delivery-store.js'
import type { TaskKey } from '../tasks/task-model.js'
import { finishedOf } from '../tasks/task-statements.js'
import type { TaskStore } from '../tasks/task-store.js'
import { messageLifetimeMs } from './message-push-service.js'
import type { ReadMessageStore } from './read-message-store.js'

interface MessageWithdrawalOptions {
  readonly database: Database
  readonly tasks: TaskStore
  readonly deliveries: DeliveryStore
  readonly reads: ReadMessageStore
  readonly clock: Clock
}

const deliveriesPerTransaction = 250
/** A message that came while the user read everything may not be among what was read. */
const readAllMarginMs = 1_000

/**
 * Withdraws pushes of messages that were recalled or read: unsent ones are not sent, and all leave
 * the badges that they count in.
 */
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
    const { reads } = this.options
    // Later ones have read what earlier ones have, and more.
    const latest = new Map(
      events.map((event) => {
        const { low_id, high_id } = event.conversation
        return [`${event.actor_id} ${low_id} ${high_id}`, event]
      }),
    )
    for (const { actor_id: userId, conversation, msg_id } of latest.values()) {
      const { low_id: lowId, high_id: highId } = conversation
      const read = { appId, userId, lowId, highId, upToId: msg_id }
      await this.#closeRead((db) => reads.listOpen(db, read, deliveriesPerTransaction))
    }
  }

  /** Messages of a user who has read everything. @param at when, milliseconds since 1970 */
  async readAll(appId: string, userId: Int64, at: number): Promise<void> {
    const { reads } = this.options
    // The task of a message expires a fixed time after the message was sent.
    const expiresBefore = at - readAllMarginMs + messageLifetimeMs
    const read = { appId, userId, expiresBefore }
    await this.#closeRead((db) => reads.listAllOpen(db, read, deliveriesPerTransaction))
  }

  /** Closes open pushes of read messages, page by page; a closed one is on no later page. */
  async #closeRead(list: (db: Queryable) => Promise<DeliveryKey[]>): Promise<void> {
    for (;;) {
      const open = await this.options.database.read(list)
      await this.#close(
        wholeGroups(open, ({ taskId }) => taskId),
        'message_read',
      )
      if (open.length < deliveriesPerTransaction) return
    }
  }

  async #withdraw(task: TaskKey): Promise<void> {
    const { database, tasks, deliveries, clock } = this.options
    await database.transaction((tx) => tasks.cancel(tx, task, clock.now()))
    let after: Int64 = 0
    for (;;) {
      const open = await database.read((db) =>
        deliveries.listOpenOf(db, task, after, deliveriesPerTransaction),
      )
      const keys = wholeGroups(open, ({ userId }) => userId)
      const last = keys.at(-1)
      if (!last) return
      await this.#close(keys, 'message_recalled')
      after = last.userId
    }
  }

  /**
   * Suppresses pending deliveries, and takes all out of badges.
   * @param keys with all open deliveries to a user of a task, which count once
   */
  async #close(keys: readonly DeliveryKey[], reason: Suppression): Promise<void> {
    const { database, tasks, deliveries, clock } = this.options
    if (keys.length === 0) return
    const at = clock.now()
    const [{ appId }] = keys as [DeliveryKey]
    const found = await database.read((db) => tasks.list(db, keys))
    const badges = new Map(found.map(({ taskId, content }) => [taskId, content.notification.badge]))
    await database.transaction(async (tx) => {
      const locked = await deliveries.lock(tx, [...keys].sort(compareDeliveries))
      const counted = locked.filter(({ badge }) => badge !== null)
      const changed = locked
        .filter(({ state }) => state === pushDeliveryState.pending)
        .map((delivery) => ({
          ...delivery,
          state: pushDeliveryState.suppressed,
          steps: withSteps(delivery.steps, { at, step: 'suppressed', result: reason }),
        }))
      await deliveries.change(tx, changed)
      await deliveries.clearBadges(tx, counted)
      await subtractFromBadges(database.contextOf(tx), appId, badgeCountsOf(counted, badges))
      await tasks.addDevices(tx, finishedOf(changed))
    })
  }
}

/** The keys without those of the last group, which may be incomplete in a full page. */
function wholeGroups<Key>(keys: readonly Key[], groupOf: (key: Key) => Int64): readonly Key[] {
  const last = keys.at(-1)
  if (last === undefined || keys.length < deliveriesPerTransaction) return keys
  const whole = keys.filter((key) => groupOf(key) !== groupOf(last))
  return whole.length === 0 ? keys : whole
}

/** The numbers by which pushes have raised badges, by user. */
function badgeCountsOf(
  counted: readonly DeliveryKey[],
  badges: ReadonlyMap<Int64, BadgeChange | null>,
): Map<Int64, number> {
  const counts = new Map<Int64, number>()
  // A user's badge changes once with a push, however many devices show it.
  const pushes = new Map(counted.map((key) => [`${key.taskId} ${key.userId}`, key]))
  for (const { taskId, userId } of pushes.values()) {
    const change = badges.get(taskId)
    if (change?.mode === 'add') counts.set(userId, (counts.get(userId) ?? 0) + change.count)
  }
  return counts
}
