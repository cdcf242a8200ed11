import type { Int64, PushChannel } from '@hermod/protocol'
import { pushTaskState } from '@hermod/protocol/enums'
import type { TaskContent } from '../content/task-content.js'

/** The key of a task. */
export interface TaskKey {
  readonly appId: string
  readonly taskId: Int64
}

/** The position of a task whose audience is resolved; IDs of users are smaller. */
export const endOfAudience = Number.MAX_SAFE_INTEGER

/** A push task as it is stored, with its progress. */
export interface StoredPushTask extends TaskKey {
  /** The message that is pushed; 0: an application started the task. */
  readonly msgId: Int64
  /** '' = none */
  readonly requestId: string
  readonly content: TaskContent
  /** One of pushTaskState. */
  readonly state: number
  /** The page of the audience that may be written, from 1. */
  readonly page: number
  /** The batch of the deliveries of that page. */
  readonly pageBatchId: Int64
  /** Users with IDs up to here have their deliveries; see {@link endOfAudience}. */
  readonly position: Int64
  /** Users of the audience when the task began; null: not known yet. */
  readonly estimatedUsers: number | null
  /** Devices that have a delivery, and those of them whose delivery has ended. */
  readonly devices: number
  readonly finished: number
  /** Milliseconds since 1970: nothing is sent before. */
  readonly beginsAt: number
  /** Milliseconds since 1970: nothing is sent from then on. */
  readonly expiresAt: number
  readonly createdAt: number
}

/** A task that is to be stored, without its progress. */
export type NewPushTask = Omit<
  StoredPushTask,
  'state' | 'page' | 'pageBatchId' | 'position' | 'devices' | 'finished'
>

/** Times and progress of a task, without its content. */
export type TaskTimes = Pick<
  StoredPushTask,
  'taskId' | 'createdAt' | 'beginsAt' | 'expiresAt' | 'devices' | 'finished'
>

/** The counts of a task on one channel, in devices (rule G1). */
export interface TaskCounts {
  readonly channel: PushChannel
  readonly target: number
  readonly sent: number
  readonly received: number
}

/** A task and its counts. */
export interface TaskProgress {
  readonly task: StoredPushTask
  /** One for each channel that it has used. */
  readonly counts: readonly TaskCounts[]
}

/** Tests whether the audience of a task is still being resolved. */
export function isUnresolved({ state }: { readonly state: number }): boolean {
  return state === pushTaskState.waiting || state === pushTaskState.expanding
}
