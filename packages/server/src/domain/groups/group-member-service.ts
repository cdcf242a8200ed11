import type { Int64 } from '@hermod/protocol'
import type { GroupAccess, GroupCaller } from './group-access.js'
import type { GroupDoor, Outcomes } from './group-door.js'

export interface GroupMemberServiceOptions {
  readonly access: GroupAccess
  readonly door: GroupDoor
}

/** Who is in a group, and what is done to members. */
export class GroupMemberService {
  constructor(private readonly options: GroupMemberServiceOptions) {}

  /**
   * Adds users without asking them (decision F7).
   * @returns as {@link GroupDoor.admit}
   * @throws AppError group_not_found, group_admin_required
   */
  async add(caller: GroupCaller, groupId: Int64, userIds: readonly Int64[]): Promise<Outcomes> {
    const { access, door } = this.options
    const distinct = [...new Set(userIds)]
    return access.change(caller, groupId, 'admit', { userIds: distinct }, (tx, scene) =>
      door.admit(tx, scene, distinct, { isOwnWill: false }),
    )
  }
}
