import { AppError, type Int64 } from '@hermod/protocol'
import type { Database } from '../../../db/database.js'
import { confirmRefusal, type Freshness } from '../../../lib/invalidated-cache.js'
import type { GroupCache } from '../../groups/core/group-cache.js'
import { directConversation, groupConversation } from '../../messaging/model/conversation-model.js'
import { isShared, type StoredFile, ticketLifeMs } from '../file-model.js'
import type { FileWithdrawalStore } from '../file-withdrawal-store.js'
import type { FileLink } from './file-links.js'

/** The caller of a call about files. */
export interface FileCaller {
  readonly appId: string
  /** The user that the call is made for; null: an Admin token alone. */
  readonly userId: Int64 | null
  readonly isAdminToken: boolean
  /** The group that an Admin token is an admin of, from the group_id header. */
  readonly adminOf: Int64 | null
}

interface FileAccessOptions {
  readonly database: Database
  readonly groups: GroupCache
  readonly withdrawals: FileWithdrawalStore
}

/** Checks who may read a file by a link (rule J3). */
export class FileAccess {
  constructor(private readonly options: FileAccessOptions) {}

  /** @throws AppError no_permission; file_not_found for the recipients of a recalled message */
  async requireReader(caller: FileCaller, file: StoredFile, link: FileLink): Promise<void> {
    const { userId, adminOf } = caller
    const { recipient } = link
    if (recipient.type === 'app') return
    if (adminOf !== null && recipient.type === 'group' && recipient.id === adminOf) return
    if (userId === null && adminOf === null) return
    if (userId !== null && [file.ownerId, link.makerId].includes(userId)) return
    if (userId === null || !(await this.#isRecipient(userId, file, link)))
      throw new AppError('no_permission')
    if (await this.#isWithdrawn(link)) throw new AppError('file_not_found')
  }

  async #isRecipient(userId: Int64, file: StoredFile, link: FileLink): Promise<boolean> {
    const { recipient } = link
    return recipient.type === 'user' ? recipient.id === userId : this.#isFor(userId, file, link)
  }

  /** Reports whether the maker of the link has recalled the message with the file. */
  async #isWithdrawn(link: FileLink): Promise<boolean> {
    const { database, withdrawals } = this.options
    const { recipient, makerId } = link
    const { appId } = link
    const { lowId, highId } =
      recipient.type === 'user'
        ? directConversation(appId, makerId, recipient.id)
        : groupConversation(appId, recipient.id)
    return database.read((db) =>
      withdrawals.isWithdrawn(db, link, { lowId, highId, senderId: makerId }),
    )
  }

  /** Reports whether a member may read a file of a group, by the rules of history. */
  #isFor(userId: Int64, file: StoredFile, link: FileLink): Promise<boolean> {
    return confirmRefusal(
      (freshness) => this.#mayMemberRead(userId, { file, link }, freshness),
      (mayRead) => !mayRead,
    )
  }

  async #mayMemberRead(
    userId: Int64,
    { file, link }: { readonly file: StoredFile; readonly link: FileLink },
    freshness: Freshness,
  ): Promise<boolean> {
    const { groups } = this.options
    const key = { appId: link.appId, groupId: link.recipient.id }
    const [group, member] = await Promise.all([
      groups.findGroup(key, freshness),
      groups.findMember(key, userId, freshness),
    ])
    if (!group || !member) return false
    // A message refers to a file after its link was made, and before its ticket expires.
    const isOfTheirTime = link.createdAt > member.joinedAt - ticketLifeMs
    return isOfTheirTime || isShared(file) || group.flags.history_visible
  }
}
