import { AppError, type Int64 } from '@hermod/protocol'
import type { GroupCache } from '../../groups/core/group-cache.js'
import { isShared, type StoredFile, ticketLifeMs } from '../file-model.js'
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

/** Checks who may read a file by a link (rule J3). */
export class FileAccess {
  constructor(private readonly groups: GroupCache) {}

  /** @throws AppError no_permission */
  async requireReader(caller: FileCaller, file: StoredFile, link: FileLink): Promise<void> {
    if (!(await this.#mayRead(caller, file, link))) throw new AppError('no_permission')
  }

  async #mayRead(caller: FileCaller, file: StoredFile, link: FileLink): Promise<boolean> {
    const { userId, adminOf } = caller
    const { recipient } = link
    if (recipient.type === 'app') return true
    if (adminOf !== null && recipient.type === 'group' && recipient.id === adminOf) return true
    if (userId === null) return adminOf === null
    if (userId === file.ownerId || userId === link.makerId) return true
    return recipient.type === 'user' ? recipient.id === userId : this.#isFor(userId, file, link)
  }

  /** Reports whether a member may read a file of a group, by the rules of history. */
  async #isFor(userId: Int64, file: StoredFile, link: FileLink): Promise<boolean> {
    const key = { appId: link.appId, groupId: link.recipient.id }
    const [group, member] = await Promise.all([
      this.groups.findGroup(key),
      this.groups.findMember(key, userId),
    ])
    if (!group || !member) return false
    // A message refers to a file after its link was made, and before its ticket expires.
    const isOfTheirTime = link.createdAt > member.joinedAt - ticketLifeMs
    return isOfTheirTime || isShared(file) || group.flags.history_visible
  }
}
