import { systemUserId } from '@hermod/protocol'
import type { Consumer, DeliveredEvent } from '../../../outbox/consumer.js'
import type { FileReferenceService } from './file-reference-service.js'
import {
  distinctReferrers,
  type FileReferrer,
  groupAvatarReferrer,
  mayReferToFiles,
  messageReferrer,
  sharedFileReferrer,
  userAvatarReferrer,
} from './reference-model.js'

/** The name of the consumer of the outbox. */
export const fileConsumer = 'files'

/**
 * Keeps the references to files up to date (rule J6). Edits of users change no attachment; the system
 * empties it (rule D5a).
 */
export class FileReferenceConsumer implements Consumer {
  readonly name = fileConsumer

  constructor(private readonly references: FileReferenceService) {}

  /** An app without a ticket has no files. */
  needs(appId: string): Promise<boolean> {
    return this.references.areUsedIn(appId)
  }

  /** All events are of one app. */
  async handle(events: readonly DeliveredEvent[]): Promise<void> {
    const [first] = events
    if (!first) return
    const { appId } = first
    const referrers: FileReferrer[] = []
    for (const event of events) {
      referrers.push(...referrersOf(event))
      // The shared files of the group have recorded references by now, or are among the referrers.
      if (event.kind === 'group.destroyed')
        referrers.push(...(await this.references.sharedIn(appId, event.payload.group_id)))
      if (event.kind === 'message.expired')
        referrers.push(
          ...(await this.references.messagesUpTo(appId, referringMessage(event.payload))),
        )
    }
    await this.references.refresh(appId, distinctReferrers(referrers))
  }

  missed(appId: string): Promise<void> {
    return this.references.rebuild(appId)
  }
}

/** Returns the referrers whose files the event may have changed. */
function referrersOf({ kind, payload }: DeliveredEvent): FileReferrer[] {
  switch (kind) {
    case 'message.stored':
    case 'message.stream_ended':
      return mayReferToFiles(payload.attachment) ? [referringMessage(payload)] : []
    case 'message.recalled':
      return [referringMessage(payload)]
    case 'message.replaced':
      return payload.actor_id === systemUserId ? [referringMessage(payload)] : []
    case 'user.info_updated':
      return payload.properties.includes('avatar') ? payload.user_ids.map(userAvatarReferrer) : []
    case 'user.removed':
      return payload.user_ids.map(userAvatarReferrer)
    case 'group.info_updated':
      return payload.property === 'avatar' ? [groupAvatarReferrer(payload.group_id)] : []
    case 'group.created':
    case 'group.destroyed':
      return [groupAvatarReferrer(payload.group_id)]
    case 'group.file_uploaded':
    case 'group.file_updated':
    case 'group.file_deleted':
      return [sharedFileReferrer(payload.group_id, payload.file_id)]
    default:
      return []
  }
}

function referringMessage({
  conversation: { low_id, high_id },
  msg_id,
}:
  | Extract<DeliveredEvent, { kind: 'message.recalled' | 'message.expired' }>['payload']
  | Extract<
      DeliveredEvent,
      { kind: 'message.stored' | 'message.replaced' | 'message.stream_ended' }
    >['payload']): FileReferrer {
  return messageReferrer(low_id, high_id, msg_id)
}
