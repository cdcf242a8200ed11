import type { Int64 } from '@hermod/protocol'
import type { ApnsTokenType, VendorChannel } from '../../../push/certificate.js'
import type { PushNotification } from '../../../push/notification.js'
import type { PushedMessage } from './pushed-message.js'

/** The audience of a push. Values that no user has are no error. */
export type Audience =
  | { readonly kind: 'all' }
  | { readonly kind: 'tag' | 'alias' | 'push_token'; readonly values: readonly string[] }
  | { readonly kind: 'user_id'; readonly values: readonly Int64[] }
  | { readonly kind: 'message'; readonly message: PushedMessage }

/** Tests whether the push is that of a message. */
export function isMessageTask({ audience }: Pick<TaskContent, 'audience'>): boolean {
  return audience.kind === 'message'
}

/** The tokens of ios_gw that a task is for; messages are alerts. */
export function tokenTypeOf({ notification }: Pick<TaskContent, 'notification'>): ApnsTokenType {
  const { pushType = 'alert', liveActivity } = notification.ios
  return liveActivity?.event === 'start' ? 'liveactivity_start' : pushType
}

/** The choice between the service's own channel and those of vendors (rule G2). */
export type DistributionStrategy = 'combined' | 'corepush_only' | 'ospush_only'

/** The notification of a task. Fields that differ from device to device are added when it is sent. */
export type TaskNotification = Omit<
  PushNotification,
  'origin' | 'expiresAt' | 'isSilent' | 'deduplicationId' | 'taskId' | 'receiptTag'
>

/** Audience, channels and notification of a task, stored as JSON. */
export interface TaskContent {
  readonly audience: Audience
  readonly strategy: DistributionStrategy
  /** Vendor channels in the order in which they are tried; others are not used. */
  readonly sequence: readonly VendorChannel[]
  readonly notification: TaskNotification
  /** The body for mentioned users; absent: the same as for the others. */
  readonly mentionedBody?: string
}
