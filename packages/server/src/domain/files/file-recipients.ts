import { AppError, type Int64 } from '@hermod/protocol'
import type { GroupAccess, GroupCaller } from '../groups/core/group-access.js'
import type { MessageTarget, RecipientRules } from '../messaging/sending/recipient-rules.js'

interface FileRecipientsOptions {
  readonly peerKinds: KindsOfPeers
  readonly recipientRules: RecipientRules
  readonly groupAccess: GroupAccess
}

/** Tells users and groups apart. */
export interface KindsOfPeers {
  find(appId: string, peerId: Int64): Promise<'user' | 'group' | null>
}

/** A caller that stands for a user. */
export type UploadingCaller = GroupCaller & { readonly userId: Int64 }

/** The recipient of a file as the caller names it; without a type it is the user or group that has the ID. */
export interface WantedRecipient {
  readonly type: MessageTarget['type'] | undefined
  readonly id: Int64
}

/** Finds recipients and checks that the caller may send them a file (rule J1). */
export class FileRecipients {
  constructor(private readonly options: FileRecipientsOptions) {}

  /** @throws AppError that keeps the caller from writing to the recipient */
  async writable(
    { appId, userId, isAdminToken }: UploadingCaller,
    { type, id }: WantedRecipient,
  ): Promise<MessageTarget> {
    const { peerKinds, recipientRules } = this.options
    const known = type ?? (await peerKinds.find(appId, id)) ?? 'user'
    const recipient = { type: known, id }
    const refusal = await recipientRules.refusal(appId, recipient, { userId, isAdminToken })
    if (refusal !== null) throw new AppError(refusal)
    return recipient
  }

  /** The group of a shared file. @throws AppError file_type_invalid for a user, member_required */
  async sharingGroup(caller: GroupCaller, { type, id }: WantedRecipient): Promise<MessageTarget> {
    if (type === 'user')
      throw new AppError('file_type_invalid', 'files are shared in groups; to_type must be 2')
    await this.options.groupAccess.read(caller, id, 'share', async () => {})
    return { type: 'group', id }
  }
}
