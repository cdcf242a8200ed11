import { once } from 'node:events'
import { get } from 'node:http'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/** A node behind a balancer. */
interface Target {
  readonly port: () => number
  isHealthy: boolean
  /** Neither new connections nor the old ones reach it. */
  isCut: boolean
  readonly sockets: Set<Socket>
}

const healthEveryMs = 250
const healthTimeoutMs = 1_000

/**
 * A balancer of TCP connections on loopback, as operators put one before their nodes: a new
 * connection goes to the next node whose /readyz answers 200. Open connections stay where they are.
 */
export class Balancer implements AsyncDisposable {
  readonly #targets: readonly Target[]
  readonly #listener: Server
  readonly #sockets = new Set<Socket>()
  readonly #timer: NodeJS.Timeout
  #next = 0

  private constructor(ports: readonly (() => number)[]) {
    this.#targets = ports.map((port) => ({
      port,
      isHealthy: true,
      isCut: false,
      sockets: new Set(),
    }))
    this.#listener = createServer({ pauseOnConnect: true }, (client) => this.#accept(client))
    this.#timer = setInterval(() => this.#checkAll(), healthEveryMs)
  }

  /** @param ports the present port of each node */
  static async start(ports: readonly (() => number)[]): Promise<Balancer> {
    const balancer = new Balancer(ports)
    balancer.#listener.listen(0, '127.0.0.1')
    await once(balancer.#listener, 'listening')
    return balancer
  }

  get port(): number {
    return (this.#listener.address() as AddressInfo).port
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`
  }

  get healthy(): number {
    return this.#targets.filter(({ isHealthy, isCut }) => isHealthy && !isCut).length
  }

  /** Cuts a node from its clients, or connects it again. */
  cut(node: number, isCut: boolean): void {
    const target = this.#targets[node] as Target
    target.isCut = isCut
    if (isCut) for (const socket of target.sockets) socket.destroy()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer)
    const closed = new Promise((resolve) => this.#listener.close(resolve))
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }

  #checkAll(): void {
    for (const target of this.#targets)
      void isReady(target.port()).then((isHealthy) => {
        target.isHealthy = isHealthy
      })
  }

  #accept(client: Socket): void {
    this.#keep(client)
    const order = this.#targets.map((_, index) => (this.#next + index) % this.#targets.length)
    this.#next++
    const usable = order
      .map((index) => this.#targets[index] as Target)
      .filter(({ isHealthy, isCut }) => isHealthy && !isCut)
    this.#connect(client, usable)
  }

  /** Connects to the first of the nodes that accepts. */
  #connect(client: Socket, [target, ...others]: readonly Target[]): void {
    if (!target) {
      client.destroy()
      return
    }
    const server = connect(target.port(), '127.0.0.1')
    this.#keep(server)
    server.once('error', () => {
      if (server.bytesRead > 0 || server.bytesWritten > 0) client.destroy()
      else if (!client.destroyed) this.#connect(client, others)
    })
    server.once('connect', () => {
      target.sockets.add(server)
      server.once('close', () => {
        target.sockets.delete(server)
        client.destroySoon()
      })
      client.once('close', () => server.destroy())
      client.pipe(server)
      server.pipe(client)
    })
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket)
    socket.setNoDelay(true)
    socket.on('error', () => {})
    socket.once('close', () => this.#sockets.delete(socket))
  }
}

function isReady(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const options = { host: '127.0.0.1', port, path: '/readyz', agent: false }
    const request = get({ ...options, timeout: healthTimeoutMs }, (response) => {
      response.resume()
      resolve(response.statusCode === 200)
    })
    request.on('timeout', () => request.destroy())
    request.on('error', () => resolve(false))
  })
}
