import { AppError, filePurpose, type Int64 } from '@hermod/protocol'
import type { BlobStore, StoreForm } from '../../../blobs/blob-store.js'
import type { Database } from '../../../db/database.js'
import { type Clock, runsOutAt } from '../../../lib/clock.js'
import type { MaybePromise } from '../../../lib/maybe-promise.js'
import type { App } from '../../apps/app-model.js'
import type { AppService } from '../../apps/app-service.js'
import type { GroupAccess, GroupCaller } from '../../groups/core/group-access.js'
import type { MessageTarget, RecipientRules } from '../../messaging/sending/recipient-rules.js'
import { systemUserId } from '../../users/system-user.js'
import type { UserCredentials } from '../../users/user-credentials.js'
import type { FileAccess, FileCaller } from '../credentials/file-access.js'
import type { FileLink } from '../credentials/file-links.js'
import type { FileSigner } from '../credentials/file-signer.js'
import { type FileTicket, ticketLifeMs } from '../credentials/file-tickets.js'
import { fileFailure } from '../file-failures.js'
import { everybody, incomingKey, isShared, newFileId, type StoredFile } from '../file-model.js'
import type { FileStore } from '../file-store.js'
import type { FileUsageStore } from '../file-usage-store.js'
import type { FileAddresses } from './file-addresses.js'

export interface TicketServiceOptions {
  readonly database: Database
  readonly files: FileStore
  readonly usage: FileUsageStore
  readonly users: Pick<UserCredentials, 'find'>
  readonly peerKinds: KindsOfPeers
  readonly recipientRules: RecipientRules
  readonly groupAccess: GroupAccess
  readonly fileAccess: FileAccess
  readonly apps: AppService
  readonly blobs: Pick<BlobStore, 'uploadForm'>
  readonly signer: FileSigner
  readonly clock: Clock
}

/** Tells users and groups apart. */
export interface KindsOfPeers {
  find(appId: string, peerId: Int64): MaybePromise<'user' | 'group' | null>
}

/** A caller that stands for a user. */
export type UploadingCaller = GroupCaller & { readonly userId: Int64 }

/** For whom a file is to be; without a type it is what has the ID. */
export interface WantedRecipient {
  readonly type: MessageTarget['type'] | undefined
  readonly id: Int64
}

/** How a file is sent, and where it will be. */
export interface IssuedTicket extends StoreForm {
  readonly downloadUrl: string
}

type TicketDraft = Pick<FileTicket, 'purpose' | 'fileType' | 'recipient' | 'ownerId' | 'payerId'>

/** Who may upload what, and pass on what they have (rules J1, J3). */
export class TicketService {
  readonly #followed = new Set<string>()

  constructor(private readonly options: TicketServiceOptions) {}

  /**
   * @param fileType as fileType of the protocol
   * @throws AppError file_type_invalid for a shared file to a user, file_quota_reached, member_required, and what keeps the caller from
   * writing to the recipient
   */
  async issueForChat(
    caller: UploadingCaller,
    to: WantedRecipient,
    fileType: number,
    addresses: FileAddresses,
  ): Promise<IssuedTicket> {
    const recipient = isShared({ fileType })
      ? await this.#sharingGroup(caller, to)
      : await this.#writable(caller, to)
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
      recipient: everybody,
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
      recipient: everybody,
      ownerId: caller.actorId,
      payerId: payerOfTicket(caller),
    }
    return this.#issue(caller.appId, draft, addresses)
  }

  /**
   * Nothing is copied: the file gets an address for another recipient.
   * @returns the address
   * @throws AppError file_signature_invalid, file_not_found, no_permission, and what keeps the caller from writing to the recipient
   */
  async forward(
    caller: UploadingCaller,
    fileSign: string,
    to: WantedRecipient,
    addresses: FileAddresses,
  ): Promise<string> {
    const { apps } = this.options
    const { file } = await this.findLinked(caller, fileSign)
    const recipient = await this.#writable(caller, to)
    const { settings } = await apps.get(caller.appId)
    return addresses.chatFile(
      await this.#link(file, recipient, { makerId: caller.userId, days: settings.file_link_days }),
    )
  }

  /**
   * The file of an address, for a caller who may have it.
   * @throws AppError file_signature_invalid, file_not_found, no_permission
   */
  async findLinked(
    caller: FileCaller,
    fileSign: string,
  ): Promise<{ readonly file: StoredFile; readonly link: FileLink }> {
    const { database, files, signer, fileAccess } = this.options
    const link = await signer.readLink(caller.appId, fileSign)
    if (!link) throw new AppError('file_signature_invalid')
    const file = await database.read((db) => files.find(db, link))
    if (!file) throw new AppError('file_not_found')
    await fileAccess.requireReader(caller, file, link)
    return { file, link }
  }

  /** @returns what the ticket says, null when its time is over or its owner's logins have been ended since */
  async find(text: string): Promise<FileTicket | null> {
    const { database, signer, users } = this.options
    const ticket = signer.readTicket(text)
    if (ticket === null || ticket.ownerId === systemUserId) return ticket
    const owner = await database.read((db) => users.find(db, ticket.appId, ticket.ownerId))
    const isCurrent = owner?.isDeleted === false && owner.credentialEpoch === ticket.credentialEpoch
    return isCurrent ? ticket : null
  }

  /**
   * @returns how many bytes the app may still store now; infinite where it has no quota
   * @throws AppError file_quota_reached
   */
  async requireRoom({ appId, settings }: App): Promise<number> {
    const { database, usage } = this.options
    const quotaBytes = Number(settings.file_quota_bytes)
    if (quotaBytes === 0) return Number.POSITIVE_INFINITY
    const { bytes } = await database.read((db) => usage.find(db, appId))
    if (bytes >= quotaBytes) throw new AppError('file_quota_reached')
    return quotaBytes - bytes
  }

  async #writable(
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

  async #sharingGroup(caller: GroupCaller, { type, id }: WantedRecipient): Promise<MessageTarget> {
    if (type === 'user')
      throw new AppError('file_type_invalid', 'files are shared in groups; to_type must be 2')
    await this.options.groupAccess.read(caller, id, 'share', async () => {})
    return { type: 'group', id }
  }

  async #issue(appId: string, draft: TicketDraft, addresses: FileAddresses): Promise<IssuedTicket> {
    const { apps, signer, clock } = this.options
    const app = await apps.get(appId)
    await this.requireRoom(app)
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
    const text = signer.ticket(ticket)
    const link = await this.#link(ticket, draft.recipient, {
      makerId: draft.ownerId,
      days: app.settings.file_link_days,
    })
    const isChat = draft.purpose === filePurpose.chat
    const downloadUrl = isChat ? addresses.chatFile(link) : addresses.avatar(fileId, link)
    const form = await this.#formOf(ticket, addresses.uploaded(text))
    return { ...(form ?? { url: addresses.upload(text), fields: {} }), downloadUrl }
  }

  /** From before the first ticket of an app on, what names its files is noted (rule J6). */
  async #follow(appId: string): Promise<void> {
    const { database, usage } = this.options
    if (this.#followed.has(appId)) return
    const isFollowed = await database.read((db) => usage.isKept(db, appId))
    if (!isFollowed) await database.transaction((tx) => usage.lock(tx, appId))
    this.#followed.add(appId)
  }

  /** @returns null: the file comes through the service */
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

  #link(
    { appId, fileId }: Pick<FileLink, 'appId' | 'fileId'>,
    recipient: FileLink['recipient'],
    { makerId, days }: { readonly makerId: Int64; readonly days: number },
  ): Promise<string> {
    const createdAt = this.options.clock.now()
    const expiresAt = runsOutAt(createdAt, days)
    return this.options.signer.link({ appId, fileId, recipient, makerId, createdAt, expiresAt })
  }

  async #epochOf(appId: string, userId: Int64): Promise<number> {
    const { database, users } = this.options
    if (userId === systemUserId) return 0
    const user = await database.read((db) => users.find(db, appId, userId))
    if (!user) throw new AppError('user_not_found')
    return user.credentialEpoch
  }
}

/** Calls with an Admin token are not limited, nor are the uploads of its tickets. */
function payerOfTicket({ isAdminToken, actorId }: GroupCaller): Int64 {
  return isAdminToken ? systemUserId : actorId
}
