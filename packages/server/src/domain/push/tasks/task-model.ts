import type { Int64, PushChannel } from '@hermod/protocol'
import type { PushNotification, VendorChannel } from '../../../push/sender.js'
import type { PushedMessage } from '../messages/pushed-message.js'

/** For whom a push is. Values that nobody has are no error. */
export type Audience =
  | { readonly kind: 'all' }
  | { readonly kind: 'tag' | 'alias' | 'push_token'; readonly values: readonly string[] }
  | { readonly kind: 'user_id'; readonly values: readonly Int64[] }
  | { readonly kind: 'message'; readonly message: PushedMessage }

/** How a push chooses between the own channel and those of vendors (rule G2). */
export type DistributionStrategy = 'combined' | 'corepush_only' | 'ospush_only'

/** What devices are told; what differs from device to device is added when it is sent. */
export type TaskNotification = Omit<
  PushNotification,
  'expiresAt' | 'isSilent' | 'deduplicationId' | 'taskId' | 'receiptTag'
>

/** What a task is about, stored as JSON. */
export interface TaskContent {
  readonly audience: Audience
  readonly strategy: DistributionStrategy
  /** Vendor channels in the order in which they are tried; others are not used. */
  readonly sequence: readonly VendorChannel[]
  readonly notification: TaskNotification
  /** The body for those whom the message mentions; absent: the same as for the others. */
  readonly mentionedBody?: string
}

/** Names a task. */
export interface TaskKey {
  readonly appId: string
  readonly taskId: Int64
}

/** A push task as it is in the database, with how far it is. */
export interface StoredPushTask extends TaskKey {
  /** The message that is pushed; 0: the task was asked for. */
  readonly msgId: Int64
  /** '' = none */
  readonly requestId: string
  readonly content: TaskContent
  /** One of pushTaskState. */
  readonly state: number
  /** Users with IDs up to here are in a batch. */
  readonly expandedTo: Int64
  /** Devices that were found, and those of them whose delivery has come to its end. */
  readonly devices: number
  readonly finished: number
  /** Milliseconds since 1970: nothing is sent before. */
  readonly beginsAt: number
  /** Milliseconds since 1970: nothing is sent from then on. */
  readonly expiresAt: number
  readonly createdAt: number
}

/** When a task was and how far it is, without what it is about. */
export type TaskTimes = Pick<
  StoredPushTask,
  'taskId' | 'createdAt' | 'beginsAt' | 'expiresAt' | 'devices' | 'finished'
>

/** Somebody whom a push is for, before their own preferences and devices are looked at. */
export interface Recipient {
  readonly userId: Int64
  /** Only these of the user's devices; null: all. */
  readonly deviceSns: readonly number[] | null
  /** Why nothing is sent all the same; null: it is. */
  readonly suppressedBy: Suppression | null
  /** Arrives without sound and vibration. */
  readonly isSilent: boolean
}

/** Why a device gets no push although it is in the audience. */
export type Suppression =
  /** The user's own settings. */
  | 'no_push'
  | 'quiet_hours'
  | 'user_disabled'
  /** Of messages. */
  | 'contact_muted'
  | 'group_muted'
  | 'group_push_mode'
  | 'collapsed'
  | 'message_recalled'
  | 'message_read'
  | 'connected'
  /** The device has no way to be reached. */
  | 'no_certificate'
  | 'not_connected'
  | 'no_channel_of_the_sequence'
  | 'device_paused'

/** A part of an audience, by user ID. */
export interface RecipientPage {
  readonly recipients: readonly Recipient[]
  /** The audience has been looked through up to this user. */
  readonly upTo: Int64
  readonly isLast: boolean
}

/** The counts of a task on one channel, in devices (rule G1). */
export interface TaskCounts {
  readonly channel: PushChannel
  readonly target: number
  readonly sent: number
  readonly received: number
}

/** How far a task is. */
export interface TaskProgress {
  readonly task: StoredPushTask
  /** Of the channels that it has used. */
  readonly counts: readonly TaskCounts[]
}
