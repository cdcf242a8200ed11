import type { Database } from '../../../db/database.js'
import type { GroupCache } from '../../groups/core/group-cache.js'
import { systemUserId } from '../../users/system-user.js'
import type { UserCredentials } from '../../users/user-credentials.js'
import type { FileTicket } from './file-tickets.js'
import type { TicketSigner } from './ticket-signer.js'

interface TicketReaderOptions {
  readonly database: Database
  readonly users: Pick<UserCredentials, 'find'>
  readonly signer: TicketSigner
  readonly groups: Pick<GroupCache, 'findMember'>
}

/** Reads tickets and checks that they are still valid. */
export class TicketReader {
  constructor(private readonly options: TicketReaderOptions) {}

  /**
   * @returns null when the ticket has expired, the tokens of its owner have been ended, or the
   * owner has left the group since
   */
  async find(text: string): Promise<FileTicket | null> {
    const { database, signer, users } = this.options
    const ticket = signer.read(text)
    if (ticket === null || ticket.ownerId === systemUserId) return ticket
    const owner = await database.read((db) => users.find(db, ticket.appId, ticket.ownerId))
    const isCurrent = owner?.isDeleted === false && owner.credentialEpoch === ticket.credentialEpoch
    return isCurrent && (await this.#isOfItsGroup(ticket)) ? ticket : null
  }

  /** An Admin token, which pays nothing, issues tickets for groups in the name of any user. */
  async #isOfItsGroup({ appId, ownerId, payerId, recipient }: FileTicket): Promise<boolean> {
    if (recipient.type !== 'group' || payerId === systemUserId) return true
    const key = { appId, groupId: recipient.id }
    return (await this.options.groups.findMember(key, ownerId)) !== null
  }
}
