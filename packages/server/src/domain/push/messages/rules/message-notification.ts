/** The notification of a message (rule K16). */
import { contentType, targetType } from '@hermod/protocol'
import type { EventPayloads } from '@hermod/protocol/events'
import { cutText } from '../../../../lib/cut-text.js'
import { parseJson, scalarText } from '../../../../lib/json.js'
import type { PushedMessage } from '../../content/pushed-message.js'
import type { TaskContent, TaskNotification } from '../../content/task-content.js'
import type { PushConfig } from './push-config.js'

/** The inputs of a notification. */
export interface NotificationParts {
  readonly message: PushedMessage
  readonly texts: Pick<EventPayloads['message.stored'], 'content_type' | 'content' | 'attachment'>
  readonly config: PushConfig
  /** The name of the sender as receivers see it. */
  readonly senderName: string
  /** null outside of groups */
  readonly groupName: string | null
}

/** Gateways show less; a task keeps no more. */
const maxTitleLength = 100
const maxBodyLength = 1_000

/** The notification of a message; {@link mentionedContent} is the exception for mentioned members. */
export function messageNotification(parts: NotificationParts): TaskNotification {
  const { message, texts, config, senderName, groupName } = parts
  const conversation = conversationName(message)
  return {
    kind: 'text',
    title: cutText(config.pushTitle || config.senderNickname || senderName, maxTitleLength),
    body: cutText(notificationBody(parts), maxBodyLength),
    bigText: '',
    attachmentUrl: '',
    badge: config.badge,
    ext: appMembers(message, texts, config),
    priority: 'high',
    // A later message without a mention does not replace a mention, nor a reply to its receiver.
    collapseKey: addressesAnybody(message) ? `${conversation}-mention` : conversation,
    ios: {
      threadId: conversation,
      ...(groupName && { subtitle: cutText(groupName, maxTitleLength) }),
    },
    android: {},
    channels: {},
  }
}

/** The body for mentioned members; nothing where the sender has none for them. */
export function mentionedContent({
  message,
  config: { mentionedMessage },
}: Pick<NotificationParts, 'message' | 'config'>): Pick<TaskContent, 'mentionedBody'> {
  return mentionsAnybody(message) && mentionedMessage !== ''
    ? { mentionedBody: cutText(mentionedMessage, maxBodyLength) }
    : {}
}

function notificationBody({ texts, config }: NotificationParts): string {
  return config.pushMessage || texts.content || wordsForContent(texts)
}

/** Words for what has no text. */
function wordsForContent({ content_type, attachment }: NotificationParts['texts']): string {
  const member = (name: string) => attachmentText(attachment, name)
  switch (content_type) {
    case contentType.image:
      return 'Picture'
    case contentType.audio:
      return 'Voice message'
    case contentType.video:
      return 'Video'
    case contentType.file:
      return withDetail('File', member('dName'))
    case contentType.location:
      return withDetail('Location', member('addr'))
    case contentType.forward:
      return 'Forwarded message'
    default:
      return 'New message'
  }
}

function withDetail(word: string, detail: string): string {
  return detail === '' ? word : `${word}: ${detail}`
}

/** A member of an attachment as clients write them; "" when there is none. */
function attachmentText(attachment: string, name: string): string {
  try {
    const parsed = parseJson(attachment)
    return typeof parsed === 'object' && parsed !== null
      ? scalarText((parsed as Readonly<Record<string, unknown>>)[name])
      : ''
  } catch {
    return ''
  }
}

/** The data by which the app opens the conversation at the message. */
function appMembers(
  message: PushedMessage,
  { content_type }: NotificationParts['texts'],
  { locKey, locArgs }: PushConfig,
): TaskNotification['ext'] {
  const { kind, msgId, senderId, targetId } = message
  return {
    msg_id: msgId,
    conversation_id: kind === 'group' ? targetId : senderId,
    conversation_type: kind === 'group' ? targetType.group : targetType.user,
    from_user_id: senderId,
    content_type,
    ...(locKey !== '' && { pushMessageLocKey: locKey, pushMessageLocArgs: locArgs }),
  }
}

/** The conversation as its receivers name it, so that later pushes replace earlier ones on their devices. */
function conversationName({ kind, senderId, targetId }: PushedMessage): string {
  return kind === 'group' ? `group-${targetId}` : `user-${senderId}`
}

function addressesAnybody(message: PushedMessage): boolean {
  return message.quotedId !== undefined || mentionsAnybody(message)
}

function mentionsAnybody({ mentions }: PushedMessage): boolean {
  return mentions === 'all' || mentions.length > 0
}
