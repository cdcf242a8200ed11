import type { AppService } from '../../apps/app-service.js'
import type { FileRecipients, UploadingCaller, WantedRecipient } from '../file-recipients.js'
import type { FileAddresses } from './file-addresses.js'
import type { LinkReader } from './link-reader.js'
import type { LinkSigner } from './link-signer.js'

interface ForwardingServiceOptions {
  readonly apps: Pick<AppService, 'get'>
  readonly recipients: FileRecipients
  readonly links: LinkReader
  readonly signer: LinkSigner
}

/** Passes files on to further recipients (rule J3). */
export class ForwardingService {
  constructor(private readonly options: ForwardingServiceOptions) {}

  /**
   * Copies nothing: the file gets an address for another recipient.
   * @returns the address
   * @throws AppError file_signature_invalid, file_not_found, no_permission, and those that keep the
   * caller from writing to the recipient
   */
  async forward(
    caller: UploadingCaller,
    fileSign: string,
    to: WantedRecipient,
    addresses: FileAddresses,
  ): Promise<string> {
    const { apps, recipients, links, signer } = this.options
    const file = await links.find(caller, fileSign)
    const recipient = await recipients.writable(caller, to)
    const { settings } = await apps.get(caller.appId)
    const link = await signer.issue(file, recipient, {
      makerId: caller.userId,
      days: settings.file_link_days,
    })
    return addresses.chatFile(link)
  }
}
