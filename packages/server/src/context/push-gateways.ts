import type { PushProviders } from '../push/providers/providers.js'
import type {
  CertificateInspection,
  GatewayCertificate,
  PushOutcome,
  PushSender,
  VendorChannel,
} from '../push/sender.js'

/**
 * The providers of the whole service. Their libraries take a tenth of a second and some memory to load, so that a service without any
 * certificate does without them: they are loaded at the start when there is one, else by the first who needs them.
 */
export class PushGateways implements PushProviders {
  #loading: Promise<PushProviders> | undefined

  readonly senders: Readonly<Record<VendorChannel, PushSender>> = {
    ios_gw: this.#sender('ios_gw'),
    vendor_h: this.#sender('vendor_h'),
    vendor_x: this.#sender('vendor_x'),
    vendor_f: this.#sender('vendor_f'),
    vendor_v: this.#sender('vendor_v'),
    vendor_o: this.#sender('vendor_o'),
    cloud_gw: this.#sender('cloud_gw'),
    vendor_n: this.#sender('vendor_n'),
  }

  load(): Promise<PushProviders> {
    this.#loading ??= import('../push/providers/providers.js').then(
      ({ createProviders }) => createProviders(),
      (error: unknown) => {
        this.#loading = undefined
        throw error
      },
    )
    return this.#loading
  }

  async inspect(certificate: GatewayCertificate): Promise<CertificateInspection> {
    return (await this.load()).inspect(certificate)
  }

  async probe(certificate: GatewayCertificate): Promise<PushOutcome> {
    return (await this.load()).probe(certificate)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await (await this.#loading)?.[Symbol.asyncDispose]()
  }

  #sender(channel: VendorChannel): PushSender {
    return { send: async (request) => (await this.load()).senders[channel].send(request) }
  }
}
