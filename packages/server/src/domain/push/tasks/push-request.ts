import { androidChannels, type Int64, type ParamsOf, type startPushTask } from '@hermod/protocol'
import { badgeChange } from '../../../push/badge.js'
import type { ChannelOptions, LiveActivityChange } from '../../../push/notification.js'
import { sequenceOf } from '../content/channel-sequence.js'
import type { Audience, TaskContent, TaskNotification } from '../content/task-content.js'

type PushTaskBody = ParamsOf<typeof startPushTask>
type RequestedMessage = PushTaskBody['message']
type Blocks = Required<Pick<RequestedMessage, 'android' | (typeof androidChannels)[number]>>
/** The fields of all blocks. */
type VendorBlock = Blocks['android'] & Blocks['vendor_h'] & Blocks['vendor_v'] & Blocks['vendor_x']
type LiveActivityBlock = NonNullable<NonNullable<RequestedMessage['ios']>['live_activity']>
type AudienceLists = Exclude<PushTaskBody['audience'], string>

/** A push that an application asks for. */
export interface PushTaskRequest {
  readonly content: TaskContent
  /** '' = the request is not remembered */
  readonly requestId: string
  /** Milliseconds since 1970; null: at once. */
  readonly beginsAt: number | null
  /** Milliseconds since 1970; null: a day after it begins, which is also the latest; a call: a minute. */
  readonly endsAt: number | null
}

/** Reads the body of /push/notify, which has been checked. */
export function readPushRequest({
  audience,
  setting = {},
  message,
}: PushTaskBody): PushTaskRequest {
  return {
    content: {
      audience: audienceOf(audience),
      strategy: setting.distribution_strategy ?? 'combined',
      sequence: sequenceOf(setting.ospush_sequence),
      notification: requestedNotification(message),
    },
    requestId: setting.request_id ?? '',
    beginsAt: milliseconds(message.show_begin_time),
    endsAt: milliseconds(message.show_end_time),
  }
}

function audienceOf(audience: PushTaskBody['audience']): Audience {
  if (audience === 'all') return { kind: 'all' }
  const { user_id: userIds, ...lists } = audience as AudienceLists
  if (userIds) return { kind: 'user_id', values: userIds }
  const kinds = ['tag', 'alias', 'push_token'] as const
  const kind = kinds.find((name) => lists[name] !== undefined) ?? 'tag'
  return { kind, values: lists[kind] ?? [] }
}

/** 0 is as good as none. */
function milliseconds(seconds: Int64 = 0): number | null {
  return seconds === 0 ? null : Number(seconds) * 1_000
}

function requestedNotification(message: RequestedMessage): TaskNotification {
  const kind = message.type ?? 'text'
  const { ios = {} } = message
  const channels = androidChannels.flatMap((name) => {
    const block = message[name]
    return block ? [[name, vendorOptions(block)] as const] : []
  })
  return {
    kind,
    title: message.title ?? '',
    body: message.body ?? '',
    bigText: message.big_text ?? '',
    attachmentUrl: message.attachment_url ?? '',
    badge: isCountedInBadge(message) ? badgeChange(message.badge ?? '') : null,
    ext: message.ext ?? null,
    priority: 'high',
    collapseKey: null,
    ios: withoutUnset({
      sound: ios.sound,
      contentAvailable: ios.content_available,
      mutableContent: ios.mutable_content,
      category: ios.category,
      threadId: ios.thread_id,
      subtitle: ios.subtitle,
      collapseId: ios.ios_gw_collapse_id,
      interruptionLevel: ios.interruption_level,
      relevanceScore: ios.relevance_score,
      titleLocKey: ios.title_loc_key,
      titleLocArgs: ios.title_loc_args,
      locKey: ios.loc_key,
      locArgs: ios.loc_args,
      pushType: ios.push_type,
      liveActivity: ios.live_activity && liveActivityOf(ios.live_activity),
    }),
    android: message.android ? vendorOptions(message.android) : {},
    channels: Object.fromEntries(channels),
  }
}

/** Tests whether a push changes the badge; calls and live activities do so only with a badge. */
function isCountedInBadge({ type, badge = '', ios }: RequestedMessage): boolean {
  if (type === 'cmd') return false
  return badge !== '' || (ios?.push_type ?? 'alert') === 'alert'
}

function liveActivityOf(change: LiveActivityBlock): LiveActivityChange {
  return {
    event: change.event,
    ...withoutUnset({
      contentState: change.content_state,
      attributesType: change.attributes_type,
      attributes: change.attributes,
      staleDate: wholeSeconds(change.stale_date),
      dismissalDate: wholeSeconds(change.dismissal_date),
    }),
  }
}

/** 0 is as good as none. */
function wholeSeconds(value: Int64 = 0): number | undefined {
  return value === 0 ? undefined : Number(value)
}

function vendorOptions(block: Partial<VendorBlock>): ChannelOptions {
  return withoutUnset({
    sound: block.sound,
    channelId: block.channel_id,
    clickAction: block.click_action,
    intent: block.intent,
    badgeClass: block.badge_class,
    pushMode: block.push_mode,
    classification: block.classification,
    icon: block.icon,
    color: block.color,
    importance: block.importance,
    collapseKey: block.collapse_key,
    template: block.template,
  })
}

/** Blank texts are as good as none. */
function withoutUnset<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && value !== ''),
  ) as { [K in keyof T]?: Exclude<T[K], undefined> }
}
