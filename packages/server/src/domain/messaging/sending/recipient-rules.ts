import type { ErrorName, Int64 } from '@hermod/protocol'
import type { MessageRules } from '../../contacts/message-rules.js'
import type { GroupMessageRules } from '../../groups/core/group-message-rules.js'
import type { AccountService } from '../../users/account-service.js'

export interface RecipientRulesOptions {
  readonly accounts: AccountService
  readonly rules: MessageRules
  readonly groupRules: GroupMessageRules
}

/** Why a message is not taken; null: it is. */
export type SendRefusal = ErrorName | null

/** Who is to get something. */
export interface MessageTarget {
  readonly type: 'user' | 'group'
  readonly id: Int64
}

/** Which users and groups take something of whom (rule E11). */
export class RecipientRules {
  constructor(private readonly options: RecipientRulesOptions) {}

  /**
   * Why the recipient takes nothing of the sender, or null; at once where all that it takes is cached. An Admin token passes over bans,
   * blocks and strangers.
   */
  async refusal(
    appId: string,
    { type, id }: MessageTarget,
    sender: { readonly userId: Int64; readonly isAdminToken: boolean },
  ): Promise<SendRefusal> {
    const { accounts, rules, groupRules } = this.options
    if (type === 'group')
      return groupRules.refusal({ appId, groupId: id }, sender.userId, sender.isAdminToken)
    const state = await accounts.findState(appId, id)
    if (!state) return 'user_not_found'
    if (state.isDeleted) return 'user_deleted'
    return sender.isAdminToken ? null : rules.refusal(state, sender.userId)
  }
}
