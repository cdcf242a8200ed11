/** Receipts of simulated gateways on their way to a server. */

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Api } from '@hermod/testkit'

export interface SentReceipt {
  readonly channel: string
  readonly url: string
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
}

/**
 * Where all gateways send their receipts, told by their consoles or by each message; it passes them
 * on to the address of the certificate with the channel's name, and remembers them.
 */
export class ReceiptForwarder implements AsyncDisposable {
  readonly sent: SentReceipt[] = []
  /** By channel. */
  addresses: Readonly<Record<string, string>> = {}
  readonly #server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString()
    const signature = request.headers['x-huawei-callback-id']
    const unsigned = 'statuses' in JSON.parse(body) ? 'vendor_n' : 'vendor_v'
    const channel = signature === undefined ? unsigned : 'vendor_h'
    const receipt = {
      channel,
      url: this.addresses[channel] ?? '',
      body,
      headers: {
        'content-type': String(request.headers['content-type']),
        ...(signature !== undefined && { 'x-huawei-callback-id': String(signature) }),
      },
    }
    this.sent.push(receipt)
    response.statusCode = (await sendReceipt(receipt)).status
    response.end('{}')
  })

  static async start(): Promise<ReceiptForwarder> {
    const forwarder = new ReceiptForwarder()
    forwarder.#server.listen(0, '127.0.0.1')
    await once(forwarder.#server, 'listening')
    return forwarder
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/console`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}

/** Sends a receipt, once more or changed. */
export async function sendReceipt({
  url,
  body,
  headers,
}: Pick<SentReceipt, 'url' | 'body' | 'headers'>): Promise<{ status: number; text: string }> {
  const answer = await fetch(url, { method: 'POST', headers, body })
  return { status: answer.status, text: await answer.text() }
}

/** Where receipts of certificates go, by the names of the certificates. */
export async function receiptAddresses(
  operator: Api,
  appId: string,
): Promise<Record<string, string>> {
  const { data } = await operator.succeed('GET', '/operator/v1/push/certificate/list', {
    query: { app_id: appId },
  })
  return Object.fromEntries(
    data.map((each: { name: string; receipt_url: string }) => [each.name, each.receipt_url]),
  )
}
