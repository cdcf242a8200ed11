/** Notifications, and what stands between a provider and a gateway. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net'
import type { PushNotification } from '../../../dist/push/notification.js'
import type { PushTarget } from '../../../dist/push/port.js'

/** A plain text, good for a day. */
export function aNotification(changes: Partial<PushNotification> = {}): PushNotification {
  return {
    origin: 'direct',
    kind: 'text',
    title: 'Alice',
    body: 'Are you there?',
    bigText: '',
    attachmentUrl: '',
    badge: null,
    ext: null,
    expiresAt: Date.now() + 86_400_000,
    priority: 'high',
    isSilent: false,
    collapseKey: null,
    deduplicationId: 'message-1',
    taskId: '4711',
    receiptTag: '4711.12',
    ios: {},
    android: {},
    channels: {},
    ...changes,
  }
}

export function targetsOf(tokens: readonly string[]): PushTarget[] {
  return tokens.map((token) => ({ token, badgeCount: 3 }))
}

/** What was sent to an address for receipts. */
export interface ReceivedReceipt {
  readonly body: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
}

/** An address for receipts. */
export class ReceiptListener implements AsyncDisposable {
  readonly received: ReceivedReceipt[] = []
  readonly #server = createServer(async (request, response) => {
    const chunks = await request.toArray()
    this.received.push({ body: Buffer.concat(chunks).toString(), headers: request.headers })
    response.end('{}')
  })

  static async start(): Promise<ReceiptListener> {
    const listener = new ReceiptListener()
    listener.#server.listen(0, '127.0.0.1')
    await once(listener.#server, 'listening')
    return listener
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/receipts`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}

/** Forwards connections to a port; those that it is told to forget go silent without an end. */
export class SilencingProxy implements AsyncDisposable {
  readonly #sockets = new Set<Socket>()
  readonly #near = new Set<Socket>()
  readonly #server

  private constructor(port: number) {
    this.#server = createTcpServer((near) => {
      const far = connect(port, '127.0.0.1')
      for (const socket of [near, far]) {
        this.#sockets.add(socket)
        socket.on('error', () => {})
        socket.on('close', () => this.#sockets.delete(socket))
      }
      this.#near.add(near)
      near.on('close', () => this.#near.delete(near))
      near.pipe(far)
      far.pipe(near)
    })
  }

  static async start(port: number): Promise<SilencingProxy> {
    const proxy = new SilencingProxy(port)
    proxy.#server.listen(0, '127.0.0.1')
    await once(proxy.#server, 'listening')
    return proxy
  }

  get url(): string {
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Connections of senders that are open now. */
  get connections(): number {
    return this.#near.size
  }

  /** Nothing more passes on the connections of now; new ones are forwarded. */
  silence(): void {
    for (const socket of this.#sockets) {
      socket.unpipe()
      // What comes is lost, so that the end of a connection is still seen.
      socket.resume()
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}
