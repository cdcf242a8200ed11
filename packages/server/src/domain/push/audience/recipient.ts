import type { Int64 } from '@hermod/protocol'

/** A user of an audience, before the user's own preferences and devices are read. */
export interface Recipient {
  readonly userId: Int64
  /** Only these of the user's devices; null: all. */
  readonly deviceSns: readonly number[] | null
  /** The reason why nothing is sent; null: it is sent. */
  readonly suppressedBy: Suppression | null
  /** Arrives without sound and vibration. */
  readonly isSilent: boolean
}

/** The reason why a device gets no push although it is in the audience. */
export type Suppression =
  /** The user's own settings. */
  | 'no_push'
  | 'quiet_hours'
  | 'details_hidden'
  | 'user_disabled'
  /** A program. */
  | 'bot'
  /** The reasons of messages. */
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
  | 'no_push_type'
  | 'device_paused'
  | 'malformed_token'

/** A part of an audience, by user ID. */
export interface RecipientPage {
  readonly recipients: readonly Recipient[]
  /** The last user of the part; the next part begins above it. */
  readonly upTo: Int64
  readonly isLast: boolean
}

/** A user of an audience, with each device. */
export function allDevicesOf(userId: Int64): Recipient {
  return { userId, deviceSns: null, suppressedBy: null, isSilent: false }
}
