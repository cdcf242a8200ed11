import type { Consumer, DeliveredEvent } from '../../../outbox/consumer.js'
import type { FileReferenceService } from './file-reference-service.js'
import {
  distinctHolders,
  type FileHolder,
  groupAvatarHolder,
  mayNameFiles,
  messageHolder,
  sharedFileHolder,
  userAvatarHolder,
} from './reference-model.js'

/** Its name among the consumers of the outbox. */
export const fileConsumer = 'files'

/** Follows what names files, and what no longer does (rule J6). Edits change no attachment. */
export class FileReferenceConsumer implements Consumer {
  readonly name = fileConsumer
  readonly isDurable = true

  constructor(private readonly references: FileReferenceService) {}

  /** An app that has never asked for a ticket has no files. */
  wants(appId: string): Promise<boolean> {
    return this.references.areUsedIn(appId)
  }

  /** The events are of one app. */
  async handle(events: readonly DeliveredEvent[]): Promise<void> {
    const [first] = events
    if (!first) return
    const { appId } = first
    const holders: FileHolder[] = []
    for (const event of events) {
      holders.push(...holdersOf(event))
      // What the group had shared is noted by now, or among the holders.
      if (event.kind === 'group.destroyed')
        holders.push(...(await this.references.sharedIn(appId, event.payload.group_id)))
      if (event.kind === 'message.expired')
        holders.push(...(await this.references.messagesUpTo(appId, messageOf(event.payload))))
    }
    await this.references.refresh(appId, distinctHolders(holders))
  }

  missed(appId: string): Promise<void> {
    return this.references.rebuild(appId)
  }
}

/** What may name other files since the event. */
function holdersOf({ kind, payload }: DeliveredEvent): FileHolder[] {
  switch (kind) {
    case 'message.stored':
      return mayNameFiles(payload.attachment) ? [messageOf(payload)] : []
    case 'message.recalled':
      return [messageOf(payload)]
    case 'user.info_updated':
      return payload.properties.includes('avatar') ? payload.user_ids.map(userAvatarHolder) : []
    case 'user.removed':
      return payload.user_ids.map(userAvatarHolder)
    case 'group.info_updated':
      return payload.property === 'avatar' ? [groupAvatarHolder(payload.group_id)] : []
    case 'group.created':
    case 'group.destroyed':
      return [groupAvatarHolder(payload.group_id)]
    case 'group.file_uploaded':
    case 'group.file_updated':
    case 'group.file_deleted':
      return [sharedFileHolder(payload.group_id, payload.file_id)]
    default:
      return []
  }
}

function messageOf({
  conversation: { low_id, high_id },
  msg_id,
}:
  | Extract<DeliveredEvent, { kind: 'message.recalled' | 'message.expired' }>['payload']
  | Extract<DeliveredEvent, { kind: 'message.stored' }>['payload']): FileHolder {
  return messageHolder(low_id, high_id, msg_id)
}
