import type { AppSettings, Int64 } from '@hermod/protocol'
import type { Tx } from '../../../db/database.js'
import { readAppSettings } from '../../apps/app-settings.js'
import { isAcceptedContact, noContact, refusesStrangers } from '../../contacts/contact-model.js'
import type { Relation } from '../../contacts/relation-cache.js'
import type { GroupCaller } from '../core/group-access.js'
import type { MemberStore } from '../membership/member-store.js'
import type { InvitationStore } from './invitation-store.js'

/** The relations of users to the user who adds them. */
interface AdderRelations {
  findRelationsTo(
    tx: Tx,
    appId: string,
    adderId: Int64,
    userIds: readonly Int64[],
  ): Promise<ReadonlyMap<Int64, Relation>>
}

interface AdditionRulesOptions {
  readonly invitations: InvitationStore
  readonly members: MemberStore
  readonly relations: AdderRelations
}

/** Result of an addition: a membership at once, an invitation, or a refusal. */
export type Addition = 'member' | 'invitation' | 'blocked'

/** Decides how others may add a user to a group, apart from the rules of the group. */
export class AdditionRules {
  constructor(private readonly options: AdditionRulesOptions) {}

  /**
   * Decides for locked users (rules F4, F4b, F7). An Admin token passes over all but group_confirm
   * in an invitation.
   * @returns the decision for each of the users
   */
  async decide(
    tx: Tx,
    caller: GroupCaller,
    userIds: readonly Int64[],
    { isInvitation }: { readonly isInvitation: boolean },
  ): Promise<ReadonlyMap<Int64, Addition>> {
    const { invitations, members, relations } = this.options
    const { appId, actorId, isAdminToken } = caller
    const appSettings = await readAppSettings(tx, appId)
    const [settings, related, isHalfFull] = await Promise.all([
      invitations.findAdditionSettings(tx, appId, userIds),
      relations.findRelationsTo(tx, appId, actorId, userIds),
      members.findInTooMany(tx, appId, userIds, placesForOthers(appSettings), 'added'),
    ])
    const decide = (userId: Int64): Addition => {
      const { group_confirm: confirms = 0, stranger_chat: chat = 0 } = settings.get(userId) ?? {}
      if (isAdminToken) return isInvitation && confirms === 1 ? 'invitation' : 'member'
      const found = related.get(userId) ?? noContact
      if (found.isBlocked) return 'blocked'
      const isRefused = !isAcceptedContact(found) && refusesStrangers(chat, appSettings)
      return confirms === 1 || isRefused || isHalfFull.has(userId) ? 'invitation' : 'member'
    }
    return new Map(userIds.map((userId) => [userId, decide(userId)]))
  }
}

/** The number of a user's groups to which others may add the user. */
function placesForOthers({ group_member_limit: limit }: AppSettings): number {
  return Math.floor(limit / 2)
}
