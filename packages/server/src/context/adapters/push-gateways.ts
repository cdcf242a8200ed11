import { lateLoader } from '../../lib/system/late-loader.js'
import type { PushProviders } from '../../push/providers/providers.js'
import type {
  CertificateInspection,
  GatewayCertificate,
  SendLimits,
  VendorChannel,
} from '../../push/certificate.js'
import type { PushOutcome } from '../../push/outcomes.js'
import type { PushSender } from '../../push/port.js'

type ProvidersModule = typeof import('../../push/providers/providers.js')

const load = lateLoader(import.meta.url)
const modulePath = '../../push/providers/providers.js'

/**
 * The push providers of the whole service. Their libraries take a tenth of a second and some memory
 * to load. They are loaded at the start when there is a certificate, else by the first call that
 * needs them.
 */
export class PushGateways implements PushProviders {
  #loaded: PushProviders | undefined

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

  /** @throws an error of loading the modules; the next call tries again */
  load(): PushProviders {
    if (!this.#loaded) {
      const { createProviders } = load(modulePath) as ProvidersModule
      this.#loaded = createProviders()
    }
    return this.#loaded
  }

  async inspect(certificate: GatewayCertificate): Promise<CertificateInspection> {
    return this.load().inspect(certificate)
  }

  async probe(certificate: GatewayCertificate): Promise<PushOutcome> {
    return this.load().probe(certificate)
  }

  /** Empty while the providers are not loaded. */
  openCircuits(): ReturnType<PushProviders['openCircuits']> {
    return this.#loaded?.openCircuits() ?? {}
  }

  limits(certificate: Pick<GatewayCertificate, 'channel' | 'limits'>): SendLimits {
    return this.load().limits(certificate)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#loaded?.[Symbol.asyncDispose]()
  }

  #sender(channel: VendorChannel): PushSender {
    return { send: async (request) => this.load().senders[channel].send(request) }
  }
}
