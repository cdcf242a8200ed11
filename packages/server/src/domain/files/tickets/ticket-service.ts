import { AppError, filePurpose, type Int64 } from '@hermod/protocol'
import type { BlobStore, StoreForm } from '../../../blobs/blob-store.js'
import type { Database } from '../../../db/database.js'
import type { Clock } from '../../../lib/clock.js'
import type { AppService } from '../../apps/app-service.js'
import type { GroupAccess, GroupCaller } from '../../groups/core/group-access.js'
import { systemUserId } from '../../users/system-user.js'
import type { UserCredentials } from '../../users/user-credentials.js'
import { fileFailure } from '../file-failures.js'
import { incomingKey, isShared, newFileId, ticketLifeMs, wholeApp } from '../file-model.js'
import type { FileQuota } from '../file-quota.js'
import type { FileRecipients, UploadingCaller, WantedRecipient } from '../file-recipients.js'
import type { FileUsageStore } from '../file-usage-store.js'
import type { FileAddresses } from '../links/file-addresses.js'
import type { LinkSigner } from '../links/link-signer.js'
import type { FileTicket } from './file-tickets.js'
import type { TicketSigner } from './ticket-signer.js'

interface TicketServiceOptions {
  readonly database: Database
  readonly usage: FileUsageStore
  readonly quota: FileQuota
  readonly users: Pick<UserCredentials, 'find'>
  readonly recipients: FileRecipients
  readonly groupAccess: GroupAccess
  readonly apps: AppService
  readonly blobs: Pick<BlobStore, 'uploadForm'>
  readonly signer: TicketSigner
  readonly links: LinkSigner
  readonly clock: Clock
}

/** The form that sends a file, and the address of the file. */
export interface IssuedTicket extends StoreForm {
  readonly downloadUrl: string
}

type TicketDraft = Pick<FileTicket, 'purpose' | 'fileType' | 'recipient' | 'ownerId' | 'payerId'>

/** Issues the tickets of uploads (rule J1). */
export class TicketService {
  readonly #followed = new Set<string>()

  constructor(private readonly options: TicketServiceOptions) {}

  /**
   * @param fileType as fileType of the protocol
   * @throws AppError file_type_invalid for a shared file to a user, file_quota_reached,
   * member_required, and those that keep the caller from writing to the recipient
   */
  async issueForChat(
    caller: UploadingCaller,
    to: WantedRecipient,
    fileType: number,
    addresses: FileAddresses,
  ): Promise<IssuedTicket> {
    const { recipients } = this.options
    const recipient = isShared({ fileType })
      ? await recipients.sharingGroup(caller, to)
      : await recipients.writable(caller, to)
    const draft = {
      purpose: filePurpose.chat,
      fileType,
      recipient,
      ownerId: caller.userId,
      payerId: payerOfTicket(caller),
    }
    return this.#issue(caller.appId, draft, addresses)
  }

  /** @throws AppError file_quota_reached */
  async issueForUserAvatar(
    caller: UploadingCaller,
    addresses: FileAddresses,
  ): Promise<IssuedTicket> {
    const draft = {
      purpose: filePurpose.userAvatar,
      fileType: 0,
      recipient: wholeApp,
      ownerId: caller.userId,
      payerId: payerOfTicket(caller),
    }
    return this.#issue(caller.appId, draft, addresses)
  }

  /** @throws AppError group_not_found, member_required, group_admin_required, file_quota_reached */
  async issueForGroupAvatar(
    caller: GroupCaller,
    groupId: Int64,
    addresses: FileAddresses,
  ): Promise<IssuedTicket> {
    await this.options.groupAccess.read(caller, groupId, 'modify', async () => {})
    const draft = {
      purpose: filePurpose.groupAvatar,
      fileType: 0,
      recipient: wholeApp,
      ownerId: caller.actorId,
      payerId: payerOfTicket(caller),
    }
    return this.#issue(caller.appId, draft, addresses)
  }

  async #issue(appId: string, draft: TicketDraft, addresses: FileAddresses): Promise<IssuedTicket> {
    const { apps, quota, signer, links, clock } = this.options
    const app = await apps.get(appId, 'current')
    await quota.requireRoom(app)
    await this.#follow(appId)
    const fileId = newFileId()
    const ticket: FileTicket = {
      ...draft,
      appId,
      fileId,
      credentialEpoch: await this.#epochOf(appId, draft.ownerId),
      maxBytes: Number(app.settings.file_max_bytes),
      expiresAt: clock.now() + ticketLifeMs,
    }
    const text = signer.sign(ticket)
    const link = await links.issue(ticket, draft.recipient, {
      makerId: draft.ownerId,
      days: app.settings.file_link_days,
    })
    const isChat = draft.purpose === filePurpose.chat
    const downloadUrl = isChat ? addresses.chatFile(link) : addresses.avatar(fileId, link)
    const form = await this.#formOf(ticket, addresses.uploaded(text))
    return { ...(form ?? { url: addresses.upload(text), fields: {} }), downloadUrl }
  }

  /** Begins to record the references of an app before its first ticket (rule J6). */
  async #follow(appId: string): Promise<void> {
    const { database, usage } = this.options
    if (this.#followed.has(appId)) return
    const isFollowed = await database.read((db) => usage.isKept(db, appId))
    if (!isFollowed) await database.transaction((tx) => usage.lock(tx, appId))
    this.#followed.add(appId)
  }

  /** @returns null when the file is uploaded through the service */
  async #formOf(
    { fileId, maxBytes, expiresAt }: FileTicket,
    redirectTo: string,
  ): Promise<StoreForm | null> {
    const options = { maxBytes, contentType: null, expiresAt, redirectTo }
    try {
      return await this.options.blobs.uploadForm(incomingKey(fileId), options)
    } catch (error) {
      throw fileFailure(error)
    }
  }

  async #epochOf(appId: string, userId: Int64): Promise<number> {
    const { database, users } = this.options
    if (userId === systemUserId) return 0
    const user = await database.read((db) => users.find(db, appId, userId))
    if (!user) throw new AppError('user_not_found')
    return user.credentialEpoch
  }
}

/** Neither calls with an Admin token nor the uploads of its tickets are limited. */
function payerOfTicket({ isAdminToken, actorId }: GroupCaller): Int64 {
  return isAdminToken ? systemUserId : actorId
}
