import type { Clock } from '../../../lib/clock.js'
import type { PurposeKeys, SecretKeys } from '../../../lib/secrets/secret-keys.js'
import { type FileLink, linkText, readLinkText } from './file-links.js'
import { type FileTicket, readTicketText, ticketText } from './file-tickets.js'

/** Makes and reads tickets and links; each kind has keys of its own, which change when the secret key is rotated. */
export class FileSigner {
  readonly #tickets: PurposeKeys
  readonly #links: PurposeKeys

  constructor(
    secretKeys: SecretKeys,
    private readonly clock: Clock,
  ) {
    this.#tickets = secretKeys.for('file tickets')
    this.#links = secretKeys.for('file links')
  }

  ticket(ticket: FileTicket): string {
    return ticketText(this.#tickets.current, ticket)
  }

  link(link: FileLink): string {
    return linkText(this.#links.current, link)
  }

  /** @returns null for a text that is no ticket, or whose time is over */
  readTicket(text: string): FileTicket | null {
    return this.#unlessOver(readTicketText(this.#tickets.accepted, text))
  }

  /** @returns null for a text that is no link of the application, or whose time is over */
  readLink(appId: string, text: string): FileLink | null {
    const link = this.#unlessOver(readLinkText(this.#links.accepted, text))
    return link?.appId === appId ? link : null
  }

  #unlessOver<Signed extends { readonly expiresAt: number }>(signed: Signed | null): Signed | null {
    return signed !== null && signed.expiresAt > this.clock.now() ? signed : null
  }
}
