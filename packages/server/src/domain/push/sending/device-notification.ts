import type { PushNotification } from '../../../push/sender.js'
import { type Delivery, receiptTag } from '../deliveries/delivery-model.js'
import type { StoredPushTask } from '../tasks/task-model.js'

/** What is shown to users who want no details on their screens (no_push_detail). */
const hiddenBody = 'You have a new message.'

/** What a task tells one device. */
export function notificationOf(
  { taskId, content, expiresAt }: StoredPushTask,
  { batchId, isSilent, hidesDetails }: Pick<Delivery, 'batchId' | 'isSilent' | 'hidesDetails'>,
): PushNotification {
  const { notification } = content
  const id = String(taskId)
  return {
    ...notification,
    ...(hidesDetails && notification.kind !== 'cmd' && hidden(notification)),
    expiresAt,
    isSilent,
    deduplicationId: id,
    taskId: id,
    receiptTag: receiptTag({ taskId, batchId }),
  }
}

function hidden({ ext, ios: { subtitle: _, ...ios } }: Pick<PushNotification, 'ext' | 'ios'>) {
  return {
    kind: 'text' as const,
    title: '',
    body: hiddenBody,
    bigText: '',
    attachmentUrl: '',
    ext: ext && withoutWords(ext),
    ios,
  }
}

/** Without that from which the app would make the text of a message. */
function withoutWords({
  pushMessageLocKey: _key,
  pushMessageLocArgs: _args,
  ...members
}: Readonly<Record<string, unknown>>) {
  return members
}
