import type { Clock } from '../../../lib/clock.js'
import type { PurposeKeys, SecretKeys } from '../../../lib/secrets/secret-keys.js'
import type { AppService } from '../../apps/app-service.js'
import { type FileLink, linkedFileId, linkText, readLinkText } from './file-links.js'
import { type FileTicket, readTicketText, ticketText } from './file-tickets.js'

export interface FileSignerOptions {
  readonly apps: Pick<AppService, 'fileLinkKey' | 'storedFileLinkKey'>
  readonly secretKeys: SecretKeys
  readonly clock: Clock
}

/**
 * Makes and reads tickets and links. The keys of tickets change when the secret key is rotated. Links stand in messages for years, so every
 * app has a key of its own for them, which only the operator ends.
 */
export class FileSigner {
  readonly #tickets: PurposeKeys

  constructor(private readonly options: FileSignerOptions) {
    this.#tickets = options.secretKeys.for('file tickets')
  }

  ticket(ticket: FileTicket): string {
    return ticketText(this.#tickets.current, ticket)
  }

  async link(link: FileLink): Promise<string> {
    return linkText(await this.options.apps.fileLinkKey(link.appId), link)
  }

  /** @returns null for a text that is no ticket, or whose time is over */
  readTicket(text: string): FileTicket | null {
    return this.#unlessOver(readTicketText(this.#tickets.accepted, text))
  }

  /** @returns null for a text that is no link of the app, or whose time is over */
  async readLink(appId: string, text: string): Promise<FileLink | null> {
    const { apps } = this.options
    if (linkedFileId(appId, text) === null) return null
    const link =
      readLinkText(await apps.fileLinkKey(appId), text) ??
      // Another node may have renewed the key a moment ago, and made this link with the new one.
      readLinkText(await apps.storedFileLinkKey(appId), text)
    return this.#unlessOver(link)
  }

  #unlessOver<Signed extends { readonly expiresAt: number }>(signed: Signed | null): Signed | null {
    return signed !== null && signed.expiresAt > this.options.clock.now() ? signed : null
  }
}
