import type { IosOptions, PushNotification } from '../../../push/notification.js'
import { isMentioned } from '../content/pushed-message.js'
import type { TaskContent } from '../content/task-content.js'
import { type Delivery, receiptTag } from '../deliveries/delivery-model.js'
import type { StoredPushTask } from '../tasks/task-model.js'

/** The body for users who want no details on their screens (no_push_detail). */
const hiddenBody = 'You have a new message.'
/** The body of a notification without any text, since gateways refuse it or devices show nothing. */
const standInBody = 'You have a new notification.'

type OneDelivery = Pick<Delivery, 'userId' | 'batchId' | 'channel' | 'isSilent' | 'hidesDetails'>

/** The notification of a task for one device. */
export function notificationOf(task: StoredPushTask, delivery: OneDelivery): PushNotification {
  const { taskId, content, expiresAt } = task
  const { batchId, channel, isSilent, hidesDetails } = delivery
  const notification = { ...content.notification, ios: timedOptions(task) }
  const id = String(taskId)
  const texts = {
    title: unlessBlank(notification.title),
    body: unlessBlank(ownBody(content, delivery) ?? notification.body),
    bigText: unlessBlank(notification.bigText),
  }
  // An app shows what comes through the own channel itself.
  const isShown = notification.kind !== 'cmd' && channel !== 'core'
  const needsText = channel !== 'ios_gw' || !hasOtherText(notification.ios)
  const isBlank = Object.values(texts).every((text) => text === '')
  return {
    ...notification,
    origin: content.audience.kind === 'message' ? content.audience.message.kind : 'task',
    ...texts,
    ...(isShown && isBlank && needsText && { body: standInBody }),
    ...(hidesDetails && notification.kind !== 'cmd' && hidden(notification, channel)),
    expiresAt,
    isSilent,
    deduplicationId: id,
    taskId: id,
    receiptTag: receiptTag({ taskId, batchId }),
  }
}

/** Adds the time of the task to a change of a live activity, so that a late try is no newer change. */
function timedOptions({ content, beginsAt }: StoredPushTask): IosOptions {
  const { ios } = content.notification
  if (ios.liveActivity === undefined) return ios
  const timestamp = Math.floor(beginsAt / 1000)
  return { ...ios, liveActivity: { ...ios.liveActivity, timestamp } }
}

/** Tests whether a push of ios_gw needs no title and body: it has keys, or is a call or a live activity. */
function hasOtherText(ios: IosOptions): boolean {
  return isCallOrActivity(ios) || Boolean(ios.titleLocKey) || Boolean(ios.locKey)
}

function isCallOrActivity({ pushType = 'alert' }: IosOptions): boolean {
  return pushType !== 'alert'
}

/** Returns "" for a text of white space only. */
function unlessBlank(text: string): string {
  return text.trim() === '' ? '' : text
}

/** A name that deliveries of a task and batch with the same notification share. */
export function variantOf({ content }: StoredPushTask, delivery: OneDelivery): string {
  const { isSilent, hidesDetails } = delivery
  return `${isSilent} ${hidesDetails} ${ownBody(content, delivery) !== null}`
}

/** The body for a mentioned user; null: it does not mention the user. */
function ownBody(
  { audience, mentionedBody }: TaskContent,
  { userId }: Pick<Delivery, 'userId'>,
): string | null {
  if (mentionedBody === undefined || audience.kind !== 'message') return null
  return isMentioned(audience.message.mentions, userId) ? mentionedBody : null
}

/** The content without details. A call or a live activity of ios_gw has no text, which would be an alert. */
function hidden(
  { ext, ios }: Pick<PushNotification, 'ext' | 'ios'>,
  channel: OneDelivery['channel'],
) {
  return {
    kind: 'text' as const,
    title: '',
    body: channel === 'ios_gw' && isCallOrActivity(ios) ? '' : hiddenBody,
    hidesDetails: true as const,
    bigText: '',
    attachmentUrl: '',
    ext: ext && withoutLocalizedText(ext),
    ios: withoutDetails(ios),
  }
}

function withoutDetails({
  subtitle: _subtitle,
  titleLocKey: _titleKey,
  titleLocArgs: _titleArgs,
  locKey: _key,
  locArgs: _args,
  liveActivity,
  ...ios
}: IosOptions): IosOptions {
  if (liveActivity === undefined) return ios
  const { contentState: _state, attributes: _attributes, ...change } = liveActivity
  return { ...ios, liveActivity: change }
}

/** Without that from which the app would make the text of a message. */
function withoutLocalizedText({
  pushMessageLocKey: _key,
  pushMessageLocArgs: _args,
  ...members
}: Readonly<Record<string, unknown>>) {
  return members
}
