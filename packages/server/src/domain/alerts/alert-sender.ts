import type { Clock } from '../../lib/clock.js'
import type { OutboundClient } from '../../lib/outbound/outbound-client.js'
import { signatureHeaders } from '../../lib/secrets/webhook-signature.js'

/** An alert as the receiver gets it. */
export interface SentAlert {
  readonly id: string
  /** Such as `alert.disk_low`. */
  readonly type: string
  /** When it was raised. */
  readonly timestamp: number
  /** A sentence. */
  readonly text: string
}

/** The outcome of a request. */
export interface SentResult {
  /** 0 = there was no answer */
  readonly status: number
  /** '' = there was an answer */
  readonly error: string
}

interface AlertSenderOptions {
  readonly client: Pick<OutboundClient, 'post'>
  readonly url: string
  readonly secret: string
  /** Names the installation. */
  readonly publicUrl: string | null
  readonly clock: Clock
}

const timeoutMs = 15_000

/** Sends alerts to their receiver, signed by Standard Webhooks. */
export class AlertSender {
  constructor(private readonly options: AlertSenderOptions) {}

  get url(): string {
    return this.options.url
  }

  async send({ id, type, timestamp, text }: SentAlert, signal?: AbortSignal): Promise<SentResult> {
    const { client, url, secret, publicUrl, clock } = this.options
    const kind = type.slice(type.indexOf('.') + 1)
    const body = JSON.stringify({
      ...{ id, type, timestamp },
      data: { kind, text, service: publicUrl ?? '' },
    })
    const signed = { id, timestamp: Math.floor(clock.now() / 1_000), body }
    const headers = {
      'content-type': 'application/json',
      'user-agent': 'Hermod-Alerts',
      ...signatureHeaders(signed, [secret]),
    }
    try {
      const request = { url, headers, body, timeoutMs, share: 'alerts', ...(signal && { signal }) }
      const { status } = await client.post(request)
      return { status, error: '' }
    } catch (error) {
      return { status: 0, error: error instanceof Error ? error.message : String(error) }
    }
  }
}

/** Tests whether the receiver took an alert. */
export function isDelivered({ status }: SentResult): boolean {
  return status >= 200 && status < 300
}
