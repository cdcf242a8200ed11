import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/**
 * A network in front of PostgreSQL that can swallow everything: connections stay, and nothing comes
 * through. It also plays the address of a database that fails over.
 */
export class StallingProxy implements AsyncDisposable {
  readonly #server: Server
  #target: { readonly host: string; readonly port: number }
  readonly #sockets = new Set<Socket>()
  #isStalled = false
  #isRefusing = false

  private constructor(url: URL) {
    this.#target = { host: url.hostname, port: Number(url.port) }
    this.#server = createServer({ pauseOnConnect: true }, (socket) => this.#accept(socket))
  }

  static async start(databaseUrl: string): Promise<{ proxy: StallingProxy; url: string }> {
    const url = new URL(databaseUrl)
    const proxy = new StallingProxy(url)
    proxy.#server.listen(0, '127.0.0.1')
    await once(proxy.#server, 'listening')
    url.port = String((proxy.#server.address() as AddressInfo).port)
    return { proxy, url: String(url) }
  }

  stall(): void {
    this.#isStalled = true
    for (const socket of this.#sockets) socket.pause()
  }

  /** Ends all connections, and new ones at once. */
  refuse(): void {
    this.#isRefusing = true
    for (const socket of this.#sockets) socket.destroy()
  }

  /** New connections lead to another database; the old ones are lost, as when an address moves. */
  moveTo(databaseUrl: string): void {
    const { hostname, port } = new URL(databaseUrl)
    this.#target = { host: hostname, port: Number(port) }
    this.resume()
  }

  /** New connections come through; the old ones are lost for good, as after a failover. */
  resume(): void {
    this.#isStalled = false
    this.#isRefusing = false
    for (const socket of this.#sockets) socket.destroy()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
  }

  #accept(client: Socket): void {
    this.#watch(client)
    if (this.#isRefusing) client.destroy()
    if (this.#isStalled || this.#isRefusing) return
    const server = connect(this.#target)
    this.#watch(server)
    this.#pass(client, server)
    this.#pass(server, client)
    client.resume()
  }

  #pass(from: Socket, to: Socket): void {
    from.on('data', (bytes) => {
      if (!this.#isStalled) to.write(bytes)
    })
    from.on('close', () => {
      if (!this.#isStalled) to.destroy()
    })
  }

  #watch(socket: Socket): void {
    this.#sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => this.#sockets.delete(socket))
  }
}
