import type { Int64 } from '@hermod/protocol'
import { type Clock, runsOutAt } from '../../../lib/clock.js'
import type { AppService } from '../../apps/app-service.js'
import type { FileKey, FileRecipient } from '../file-model.js'
import { type FileLink, linkedFileId, linkText, readLinkText } from './file-links.js'

interface LinkSignerOptions {
  readonly apps: Pick<AppService, 'fileLinkKey' | 'storedFileLinkKey'>
  readonly clock: Clock
}

/**
 * Signs links and checks their signatures. Links stand in messages for years, so every app has its
 * own key for them, which only the operator replaces.
 */
export class LinkSigner {
  constructor(private readonly options: LinkSignerOptions) {}

  /** Returns the text of a new link. @param options.days life of the link */
  async issue(
    { appId, fileId }: FileKey,
    recipient: FileRecipient,
    { makerId, days }: { readonly makerId: Int64; readonly days: number },
  ): Promise<string> {
    const { apps, clock } = this.options
    const createdAt = clock.now()
    const expiresAt = runsOutAt(createdAt, days)
    const link = { appId, fileId, recipient, makerId, createdAt, expiresAt }
    return linkText(await apps.fileLinkKey(appId), link)
  }

  /** @returns null for a text that is no link of the app, or that has expired */
  async read(appId: string, text: string): Promise<FileLink | null> {
    const { apps, clock } = this.options
    if (linkedFileId(appId, text) === null) return null
    const link =
      readLinkText(await apps.fileLinkKey(appId), text) ??
      // Another node may just have renewed the key and signed this link with the new one.
      readLinkText(await apps.storedFileLinkKey(appId), text)
    return link !== null && link.expiresAt > clock.now() ? link : null
  }
}
