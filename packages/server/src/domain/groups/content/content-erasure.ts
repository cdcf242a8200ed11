import { groupStatus, systemUserId } from '@hermod/protocol'
import type { Database, Tx } from '../../../db/database.js'
import type { UserKey } from '../../users/user-model.js'
import type { GroupEvents } from '../core/group-events.js'
import { type Group, type GroupKey, groupEvent } from '../core/group-model.js'
import type { AnnouncementStore } from './announcement-store.js'
import type { SharedFileStore } from './shared-file-store.js'

interface ContentErasureOptions {
  readonly database: Database
  readonly groups: { lockForUpdate(tx: Tx, group: GroupKey): Promise<Group | null> }
  readonly announcements: AnnouncementStore
  readonly files: SharedFileStore
  readonly events: GroupEvents
}

/** Rows of one read. */
const rowsPerPage = 100

/** Removes the announcements and shared files of a person from groups, each with its event. */
export class ContentErasure {
  constructor(private readonly options: ContentErasureOptions) {}

  /** @throws when the signal is aborted */
  async erase(user: UserKey, signal: AbortSignal): Promise<void> {
    await this.#eraseAnnouncements(user, signal)
    await this.#eraseFiles(user, signal)
  }

  async #eraseAnnouncements(user: UserKey, signal: AbortSignal): Promise<void> {
    const { database, announcements } = this.options
    const { appId } = user
    for (;;) {
      const page = await database.read((db) => announcements.listOfAuthor(db, user, rowsPerPage))
      for (const { groupId, announcementId } of page) {
        signal.throwIfAborted()
        await this.#change({ appId, groupId }, async (tx, group) => {
          await announcements.delete(tx, group, announcementId)
          const content = { announcement_id: announcementId, title: '', is_deleted: true }
          return (present) => groupEvent(present, 'announcement_updated', systemUserId, [], content)
        })
      }
      if (page.length < rowsPerPage) return
    }
  }

  async #eraseFiles(user: UserKey, signal: AbortSignal): Promise<void> {
    const { database, files } = this.options
    const { appId } = user
    for (;;) {
      const page = await database.read((db) => files.listOfUploader(db, user, rowsPerPage))
      for (const { groupId, fileId } of page) {
        signal.throwIfAborted()
        await this.#change({ appId, groupId }, async (tx, group) => {
          await files.delete(tx, group, [fileId])
          const content = { file_id: fileId, name: '' }
          return (present) => groupEvent(present, 'file_deleted', systemUserId, [], content)
        })
      }
      if (page.length < rowsPerPage) return
    }
  }

  /** Changes a group under its lock; members of a dissolved one get no event. */
  async #change(
    key: GroupKey,
    work: (tx: Tx, group: GroupKey) => Promise<(group: Group) => ReturnType<typeof groupEvent>>,
  ): Promise<void> {
    const { database, groups, events } = this.options
    await database.transaction(async (tx) => {
      const group = await groups.lockForUpdate(tx, key)
      const eventOf = await work(tx, key)
      if (group?.status === groupStatus.normal) events.append(tx, group, eventOf(group))
    })
  }
}
