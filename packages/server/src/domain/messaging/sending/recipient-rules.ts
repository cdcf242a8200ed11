import type { ErrorName, Int64 } from '@hermod/protocol'
import type { MessageRules } from '../../contacts/message-rules.js'
import type { GroupMessageRules } from '../../groups/core/group-message-rules.js'
import type { AccountService } from '../../users/account-service.js'

export interface RecipientRulesOptions {
  readonly accounts: AccountService
  readonly rules: MessageRules
  readonly groupRules: GroupMessageRules
}

/** The reason why a target refuses a message; null = it accepts. */
export type SendRefusal = ErrorName | null

/** The recipient of a message. */
export interface MessageTarget {
  readonly type: 'user' | 'group'
  readonly id: Int64
}

/** Decides which users and groups accept messages of a sender (rule E11). */
export class RecipientRules {
  constructor(private readonly options: RecipientRulesOptions) {}

  /**
   * The reason why the recipient refuses the sender, or null. An Admin token bypasses bans, blocks
   * and the rule on users who are no contacts.
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
