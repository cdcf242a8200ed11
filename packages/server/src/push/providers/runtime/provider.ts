import { chunksOf } from '../../../lib/chunks.js'
import type { Clock } from '../../../lib/clock.js'
import { groupBy } from '../../../lib/group-by.js'
import type { CertificateInspection, GatewayCertificate, SendLimits } from '../../certificate.js'
import type { PushOutcome, QuotaPauses, Refusal } from '../../outcomes.js'
import type { CertificateInspector, PushRequest, PushSender, PushTarget } from '../../port.js'
import { withCertificateDefaults } from '../content/options.js'
import { CertificateClients } from './certificate-client.js'
import type { CircuitLimits } from './circuit.js'
import { templateFaults } from '../templates/template-faults.js'
import { CredentialError } from './credentials.js'
import { probeNotification } from './probe.js'
import { type ChannelLimits, certificateLimits, type GatewayProtocol } from './protocol.js'

interface ProviderOptions {
  readonly clock: Clock
  readonly circuit: CircuitLimits
  /** Overrides the protocol's limits. */
  readonly limits?: Partial<ChannelLimits>
}

/** Sends to one gateway: takes whole notifications and returns one outcome per target. */
export class GatewayProvider<Credentials>
  implements PushSender, CertificateInspector, AsyncDisposable
{
  readonly #clients: CertificateClients<Credentials>
  readonly #limits: ChannelLimits

  constructor(
    private readonly protocol: GatewayProtocol<Credentials>,
    private readonly options: ProviderOptions,
  ) {
    this.#limits = { ...protocol.limits, ...options.limits }
    this.#clients = new CertificateClients(protocol, { ...options, limits: this.#limits })
  }

  async send(request: PushRequest): Promise<PushOutcome[]> {
    const { certificate, targets, pauses = {} } = request
    const notification = withCertificateDefaults(request.notification, certificate)
    const unsendable =
      this.protocol.refuse?.(notification, certificate) ??
      this.#paused({ certificate, notification }, pauses)
    if (unsendable) return targets.map(() => unsendable)
    const client = this.#clients.open(certificate)
    if ('kind' in client) return targets.map(() => client)
    const byToken = new Map(targets.map((target) => [target.token, target]))
    const outcomes = new Map<string, PushOutcome>()
    await Promise.all(
      this.#requestsFor([...byToken.values()], client.limits).map(async (each) => {
        const results = await client.send({ certificate, notification, ...each })
        for (const [index, { token }] of each.targets.entries())
          outcomes.set(token, results[index] ?? missing)
      }),
    )
    return targets.map(({ token }) => outcomes.get(token) ?? missing)
  }

  async inspect(certificate: GatewayCertificate): Promise<CertificateInspection> {
    const faults = templateFaults(certificate)
    try {
      const credentials = this.protocol.readCredentials(certificate)
      const inspection = this.protocol.inspect?.(credentials)
      return {
        faults: [...(inspection?.faults ?? []), ...faults],
        expiresAt: inspection?.expiresAt ?? null,
      }
    } catch (error) {
      if (!(error instanceof CredentialError)) throw error
      return { faults: [...error.faults, ...faults], expiresAt: null }
    }
  }

  async probe(certificate: GatewayCertificate): Promise<PushOutcome> {
    const client = this.#clients.openUnshared(certificate)
    if ('kind' in client) return client
    const target = { token: this.protocol.probeToken ?? 'hermod-probe', badgeCount: null }
    const part = this.protocol.partOf?.(target) ?? ''
    const notification = withCertificateDefaults(
      probeNotification(this.options.clock.now(), certificate),
      certificate,
    )
    try {
      const [outcome = missing] = await client.send({
        certificate,
        notification,
        targets: [target],
        part,
      })
      return outcome
    } finally {
      await client.close()
    }
  }

  /** Number of certificates with an open circuit. */
  get openCircuits(): number {
    return this.#clients.openCircuits
  }

  /** Closes all connections after the requests in progress. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#clients.close()
  }

  limits(certificate: Pick<GatewayCertificate, 'channel' | 'limits'>): SendLimits {
    const { perSecond, maxInFlight } = certificateLimits(this.#limits, certificate)
    return { perSecond, maxInFlight }
  }

  /** Returns the reason why the gateway is paused; null when it is not. */
  #paused(
    { certificate, notification }: Pick<PushRequest, 'certificate' | 'notification'>,
    pauses: QuotaPauses,
  ): Refusal | null {
    const ofMessage = this.protocol.classOf?.(notification, certificate) ?? null
    for (const scope of ['certificate', ofMessage] as const) {
      if (scope === null) continue
      const endsAt = pauses[scope] ?? 0
      if (endsAt <= this.options.clock.now()) continue
      const reason = `the gateway takes no more ${scope === 'certificate' ? 'messages' : `${scope} messages`} until the vendors' day ends`
      return { kind: 'quota', code: 'quota_used_up', reason, scope, endsAt }
    }
    return null
  }

  #requestsFor(
    all: readonly PushTarget[],
    { targetsPerRequest }: Pick<ChannelLimits, 'targetsPerRequest'>,
  ): { part: string; targets: PushTarget[] }[] {
    const parts = groupBy(all, (target) => this.protocol.partOf?.(target) ?? '')
    return [...parts].flatMap(([part, members]) =>
      chunksOf(members, targetsPerRequest).map((targets) => ({ part, targets })),
    )
  }
}

/** The answer does not mention a device. */
const missing: PushOutcome = {
  kind: 'server_error',
  code: 'no_outcome',
  reason: 'the answer of the gateway says nothing about this device',
  retryAfterMs: null,
}
