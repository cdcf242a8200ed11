import { pushTaskState } from '@hermod/protocol'
import type { Database } from '../../../db/database.js'
import { RetryProcedure } from '../../../db/procedure.js'
import type { Clock } from '../../../lib/clock.js'
import type { AudienceReader } from '../audience/audience-reader.js'
import { runOnUsers } from '../audience/run-on-users.js'
import type { DeliveryPlanner } from '../deliveries/delivery-planner.js'
import type { StoredPushTask } from '../tasks/task-model.js'
import type { TaskStore } from '../tasks/task-store.js'
import { type Batch, type BatchKey, noDevices } from './batch-model.js'
import type { BatchStore } from './batch-store.js'
import { type BatchPart, openBatch } from './open-batch.js'

export interface BatchOpenerOptions {
  readonly database: Database
  readonly store: BatchStore
  readonly tasks: TaskStore
  readonly audiences: AudienceReader
  readonly planner: Pick<DeliveryPlanner, 'surroundings'>
  readonly clock: Clock
}

/** Gives the devices of batches their deliveries, when the batches are about to be sent. */
export class BatchOpener {
  constructor(private readonly options: BatchOpenerOptions) {}

  /** Goes on where it was interrupted; does nothing for a batch that is open. A task that has ended gets no more deliveries. */
  async open(key: BatchKey, signal: AbortSignal): Promise<void> {
    const { database, store, tasks, clock } = this.options
    for (;;) {
      signal.throwIfAborted()
      const batch = await database.read((db) => store.find(db, key))
      if (!batch || batch.openedTo >= batch.upTo) return
      const task = await database.read((db) => tasks.find(db, batch))
      if (!task || task.state === pushTaskState.cancelled || task.expiresAt <= clock.now())
        return this.#leave(batch)
      await this.#openPart(task, batch)
    }
  }

  async #openPart(task: StoredPushTask, batch: Batch): Promise<void> {
    const { database } = this.options
    const part = await this.#nextPart(task, batch)
    try {
      await runOnUsers(database, openBatch, part)
    } catch (error) {
      // How things are now is read again.
      if (!(error instanceof RetryProcedure)) throw error
    }
  }

  async #nextPart(task: StoredPushTask, { batchId, openedTo, upTo }: Batch): Promise<BatchPart> {
    const { database, audiences, planner } = this.options
    const page = await audiences.page(task, openedTo, database.dialect.usersPerTransaction)
    const isLast = page.isLast || page.upTo >= upTo
    const recipients = page.recipients.filter(({ userId }) => userId <= upTo)
    const userIds = recipients.map(({ userId }) => userId)
    return {
      task: { appId: task.appId, taskId: task.taskId, content: task.content },
      batch: { batchId, openedTo },
      recipients,
      surroundings: await planner.surroundings(task.appId, userIds),
      openedTo: isLast ? upTo : page.upTo,
      isLast,
    }
  }

  /** Its devices were targets and get nothing: they have come to their end. */
  async #leave(batch: Batch): Promise<void> {
    const { database, store, tasks } = this.options
    const { appId, taskId } = batch
    await database.transaction(async (tx) => {
      const progress = await store.lock(tx, batch)
      if (!progress) return
      await store.setProgress(tx, { ...progress, expected: noDevices })
      const finished = progress.expected.devices
      await tasks.addDevices(tx, [{ appId, taskId, devices: 0, finished }])
    })
  }
}
