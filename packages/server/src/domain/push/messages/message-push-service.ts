import type { Int64 } from '@hermod/protocol'
import type { EventPayloads } from '@hermod/protocol/events'
import type { Database } from '../../../db/database.js'
import { RetryProcedure } from '../../../db/procedure.js'
import type { JobQueue } from '../../../jobs/job-queue.js'
import type { Clock } from '../../../lib/clock.js'
import { whenReserved } from '../../../lib/ids/ids.js'
import type { AppService } from '../../apps/app-service.js'
import { systemUserId } from '../../users/system-user.js'
import { sequenceOf } from '../content/channel-sequence.js'
import type { PlanInputReader } from '../deliveries/plan-input-reader.js'
import { type NewTasks, writeNewTasks } from '../pages/write-deliveries.js'
import { firstPageJob, sendBatch } from '../tasks/push-jobs.js'
import type { NewPushTask } from '../tasks/task-model.js'
import type { TaskStore } from '../tasks/task-store.js'
import type { Candidate, MessageRecipients, ResolvedMessage } from './message-recipients.js'
import type { ReceiverStore, SenderNames } from './receiver-store.js'
import { chunksByKey } from './rules/chunks-by-key.js'
import { mentionedContent, messageNotification } from './rules/message-notification.js'
import { isWorthPush } from './rules/message-rules.js'
import { pushConfigOf } from './rules/push-config.js'

interface MessagePushServiceOptions {
  readonly database: Database
  readonly store: ReceiverStore
  readonly recipients: MessageRecipients
  readonly tasks: TaskStore
  readonly planInputs: Pick<PlanInputReader, 'read'>
  readonly apps: AppService
  readonly jobs: JobQueue
  readonly ids: { take(count: number): Promise<number[]> }
  readonly clock: Clock
}

/** A task of a message, with its recipients. */
interface MessageTask {
  readonly task: NewPushTask
  readonly recipients: ResolvedMessage['recipients']
}

/** The age after which a message is not pushed: its task expires then. */
export const messageLifetimeMs = 24 * 3_600_000
/** Messages whose receivers are in memory at once; each may have hundreds. */
const messagesAtOnce = 250
/** Users that get their deliveries in one transaction: few, so that messages do not wait for it. */
const usersPerTransaction = 250
const sequence = sequenceOf()

/** Makes push tasks of messages (rules G5, K16). */
export class MessagePushService {
  constructor(private readonly options: MessagePushServiceOptions) {}

  /**
   * Orders the pushes of messages of one application, in their order within each conversation.
   * Messages that have their task already are left out.
   */
  async push(
    appId: string,
    messages: readonly EventPayloads['message.stored'][],
    signal: AbortSignal,
  ): Promise<void> {
    const { recipients, clock } = this.options
    const now = clock.now()
    const candidates = messages
      .filter(({ timestamp }) => expiryOf(timestamp) > now)
      .map((event) => ({ event, config: pushConfigOf(event.config) }))
      .filter(({ event, config }) => isWorthPush(event, config))
    for (const chunk of chunksByKey(candidates, conversationKeyOf, messagesAtOnce)) {
      const resolvedMessages = await recipients.resolve(appId, chunk)
      if (resolvedMessages.length === 0) continue
      for (const part of partsOf(await this.#tasksOf(appId, resolvedMessages, now))) {
        signal.throwIfAborted()
        await this.#order(appId, part)
      }
    }
  }

  async #tasksOf(
    appId: string,
    resolvedMessages: readonly ResolvedMessage[],
    now: number,
  ): Promise<MessageTask[]> {
    const { database, store, apps, ids } = this.options
    const senders = resolvedMessages.map(({ message }) => message.senderId)
    const [names, { settings }] = await Promise.all([
      database.read((db) => store.findSenders(db, appId, senders)),
      apps.get(appId),
    ])
    const taskIds = await ids.take(resolvedMessages.length)
    return resolvedMessages.map(({ event, config, message, group, recipients }, index) => {
      const senderName =
        message.senderId === systemUserId
          ? settings.system_name
          : senderNameOf(names.get(message.senderId), {
              nameless:
                group?.flags.hide_member_info && settings.hide_member_info ? group.name : null,
            })
      const notification = messageNotification({
        message,
        texts: event,
        config,
        senderName,
        groupName: group?.name ?? null,
      })
      const task = {
        appId,
        taskId: taskIds[index] ?? 0,
        estimatedUsers: recipients?.length ?? null,
        msgId: message.msgId,
        requestId: '',
        content: {
          audience: { kind: 'message', message },
          strategy: 'ospush_only',
          sequence,
          notification,
          ...mentionedContent({ message, config }),
        },
        beginsAt: now,
        expiresAt: expiryOf(event.timestamp),
        createdAt: now,
      } as const
      return { task, recipients }
    })
  }

  /** A task is stored with all of its deliveries, or with the job that makes them. */
  async #order(appId: string, part: readonly MessageTask[]): Promise<void> {
    const small = part.flatMap(({ task, recipients }) =>
      recipients === null ? [] : [{ task, recipients }],
    )
    if (small.length > 0) await this.#writeSmall(appId, small)
    for (const { task, recipients } of part) if (recipients === null) await this.#insertLarge(task)
  }

  async #writeSmall(appId: string, audiences: NewTasks['audiences']): Promise<void> {
    const { database, planInputs, jobs, ids } = this.options
    const userIds = [
      ...new Set(audiences.flatMap(({ recipients }) => recipients.map(({ userId }) => userId))),
    ]
    const [batchId = 0] = await ids.take(1)
    const [job] = await whenReserved(() =>
      jobs.values(sendBatch, [{ appId, payload: { batchId } }]),
    )
    if (!job) throw new Error('a job has values')
    const write = async () => {
      const inputs = await planInputs.read(appId, userIds, true)
      return database.procedure(writeNewTasks, { appId, batchId, audiences, inputs, job }, null)
    }
    for (;;)
      try {
        if (await write()) jobs.announce(sendBatch)
        return
      } catch (error) {
        // A user was deleted in the meantime.
        if (!(error instanceof RetryProcedure)) throw error
      }
  }

  async #insertLarge(task: NewPushTask): Promise<void> {
    const { database, tasks, jobs } = this.options
    await database.transaction(async (tx) => {
      if (await tasks.insert(tx, task)) await jobs.enqueue(tx, sendBatch, firstPageJob(task))
    })
  }
}

function conversationKeyOf({ event: { conversation } }: Candidate): string {
  return `${conversation.low_id} ${conversation.high_id}`
}

function expiryOf(sentAt: Int64): number {
  return Number(sentAt) + messageLifetimeMs
}

/**
 * The name of the sender in the notification.
 * @param nameless for senders without a nickname, where the group hides its members (rule F9);
 * null: the username
 */
function senderNameOf(
  names: SenderNames | undefined,
  { nameless }: { readonly nameless: string | null },
): string {
  return names?.pushNickName || names?.nickName || (nameless ?? names?.username ?? '')
}

/** Tasks that are stored together, in their order. */
function partsOf(tasks: readonly MessageTask[]): MessageTask[][] {
  const parts: MessageTask[][] = []
  let users = usersPerTransaction
  for (const each of tasks) {
    users += Math.max(each.recipients?.length ?? 1, 1)
    if (users > usersPerTransaction) {
      parts.push([])
      users = each.recipients?.length ?? 1
    }
    parts.at(-1)?.push(each)
  }
  return parts
}
