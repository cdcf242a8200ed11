import type { Clock } from '../../../lib/clock.js'
import type { PurposeKeys, SecretKeys } from '../../../lib/secrets/secret-keys.js'
import { type FileTicket, readTicketText, ticketText } from './file-tickets.js'

interface TicketSignerOptions {
  readonly secretKeys: SecretKeys
  readonly clock: Clock
}

/** Signs tickets and checks their signatures. The keys change when the secret key is rotated. */
export class TicketSigner {
  readonly #keys: PurposeKeys

  constructor(private readonly options: TicketSignerOptions) {
    this.#keys = options.secretKeys.for('file tickets')
  }

  sign(ticket: FileTicket): string {
    return ticketText(this.#keys.current, ticket)
  }

  /** @returns null for a text that is no ticket, or that has expired */
  read(text: string): FileTicket | null {
    const ticket = readTicketText(this.#keys.accepted, text)
    return ticket !== null && ticket.expiresAt > this.options.clock.now() ? ticket : null
  }
}
