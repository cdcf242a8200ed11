/**
 * A gateway in the protocol of vendor_f that answers what a test has written down, one request
 * after another.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Json } from '@hermod/testkit'

/** `cut`: the connection ends without an answer, though the request was read. */
export type ScriptedReply = Json | 'cut'

const accepted: Json = { code: '200', value: '', msgId: 'message' }

export class ScriptedGateway implements AsyncDisposable {
  /** The bodies of all requests. */
  readonly requests: string[] = []
  #replies: ScriptedReply[] = []
  readonly #server = createServer(async (request, response) => {
    this.requests.push(Buffer.concat(await request.toArray()).toString())
    const reply = this.#replies.shift() ?? accepted
    if (reply === 'cut') request.socket.destroy()
    else response.writeHead(200, { 'retry-after': '1' }).end(JSON.stringify(reply))
  })

  static async start(): Promise<ScriptedGateway> {
    const gateway = new ScriptedGateway()
    gateway.#server.listen(0, '127.0.0.1')
    await once(gateway.#server, 'listening')
    return gateway
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** The next answers; after them everything is taken. */
  answers(...replies: readonly ScriptedReply[]): void {
    this.#replies = [...replies]
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}
