import type { Int64 } from '@hermod/protocol'
import type { Database } from '../../../db/database.js'
import { pause } from '../../../lib/concurrency/pause.js'
import type { UserKey } from '../../users/user-model.js'
import type { TaskContent } from '../content/task-content.js'
import type { StoredPushTask } from './task-model.js'
import type { TaskStore } from './task-store.js'

interface TaskErasureOptions {
  readonly database: Database
  readonly tasks: TaskStore
}

const tasksPerPage = 200
const pauseMs = 5

/**
 * Removes a person from push tasks: tasks of the person's messages are deleted, and so are those for
 * the person alone. Audiences by alias or push token name no user, and expire with their tasks.
 */
export class TaskErasure {
  constructor(private readonly options: TaskErasureOptions) {}

  /**
   * @param run.keepsMessages leaves the tasks of messages, which stay
   * @throws when the signal is aborted
   */
  async erase(
    user: UserKey,
    { keepsMessages, signal }: { readonly keepsMessages: boolean; readonly signal: AbortSignal },
  ): Promise<void> {
    const { database, tasks } = this.options
    await this.#visit(user, { keepsMessages, signal }, (task, content) =>
      database.transaction((tx) =>
        content === null ? tasks.delete(tx, [task]) : tasks.setContent(tx, task, content),
      ),
    )
  }

  /** Counts the tasks that {@link erase} would change. */
  async count(
    user: UserKey,
    run: { readonly keepsMessages: boolean; readonly signal: AbortSignal },
  ): Promise<number> {
    let count = 0
    await this.#visit(user, run, async () => {
      count++
    })
    return count
  }

  /** @param change gets each task with the user, and its content without; null: nothing is left */
  async #visit(
    { appId, userId }: UserKey,
    { keepsMessages, signal }: { readonly keepsMessages: boolean; readonly signal: AbortSignal },
    change: (task: StoredPushTask, content: TaskContent | null) => Promise<void>,
  ): Promise<void> {
    const { database, tasks } = this.options
    for (let before: Int64 | undefined; ; ) {
      signal.throwIfAborted()
      const start = before
      const page: StoredPushTask[] = await database.read((db) =>
        tasks.listNewest(db, appId, { before: start, limit: tasksPerPage }),
      )
      for (const task of page) {
        if (keepsMessages && task.content.audience.kind === 'message') continue
        const content = withoutUser(task.content, userId)
        if (content !== task.content) await change(task, content)
      }
      before = page.at(-1)?.taskId
      if (page.length < tasksPerPage) return
      await pause(pauseMs, signal)
    }
  }
}

/** Returns a content without a user: the same one where it has none, null where nothing is left. */
export function withoutUser(content: TaskContent, userId: Int64): TaskContent | null {
  const { audience } = content
  if (audience.kind === 'message') return audience.message.senderId === userId ? null : content
  if (audience.kind !== 'user_id' || !audience.values.includes(userId)) return content
  const values = audience.values.filter((each) => each !== userId)
  return values.length === 0 ? null : { ...content, audience: { ...audience, values } }
}
