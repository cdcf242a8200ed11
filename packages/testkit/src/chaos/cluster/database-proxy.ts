import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/** `refused`: as by a firewall that answers; `silent`: as by a cable that is pulled. */
export type Cut = 'refused' | 'silent'

interface Pair {
  readonly client: Socket
  readonly server: Socket
  /** It carries the bus. */
  isBus: boolean
}

/** Words by which a connection of the bus is known: statements are in plain text. */
const busWords = ['pg_notify', 'LISTEN ', 'listen ']

/** The network between a node and its database; what it cuts can be all of it, or the bus alone. */
export class DatabaseProxy implements AsyncDisposable {
  readonly #listener: Server
  readonly #pairs = new Set<Pair>()
  /** Sockets that were accepted while nothing came through. */
  readonly #waiting = new Set<Socket>()
  #cut: Cut | null = null
  #isBusCut = false

  private constructor(private readonly target: () => URL) {
    this.#listener = createServer({ pauseOnConnect: true }, (client) => this.#accept(client))
  }

  /** @param target the URL of the database that is the primary now */
  static async start(target: () => URL): Promise<DatabaseProxy> {
    const proxy = new DatabaseProxy(target)
    proxy.#listener.listen(0, '127.0.0.1')
    await once(proxy.#listener, 'listening')
    return proxy
  }

  /** The URL of the database through the proxy. */
  get url(): string {
    const url = new URL(this.target())
    url.port = String((this.#listener.address() as AddressInfo).port)
    return String(url)
  }

  /** Connections of the bus that are open. */
  get busConnections(): number {
    return [...this.#pairs].filter(({ isBus }) => isBus).length
  }

  /** Cuts everything. */
  cut(kind: Cut): void {
    this.#cut = kind
    for (const pair of this.#pairs)
      if (kind === 'refused') end(pair)
      else for (const socket of [pair.client, pair.server]) socket.pause()
  }

  /** Cuts the connections of the bus, and each new one as soon as it shows that it is one. */
  cutBus(): void {
    this.#isBusCut = true
    for (const pair of this.#pairs) if (pair.isBus) end(pair)
  }

  /** New connections come through. Those that were silent are lost for good. */
  mend(): void {
    const wasSilent = this.#cut === 'silent'
    this.#cut = null
    this.#isBusCut = false
    if (wasSilent) for (const pair of this.#pairs) end(pair)
    for (const socket of this.#waiting) socket.destroy()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => this.#listener.close(resolve))
    for (const pair of this.#pairs) end(pair)
    for (const socket of this.#waiting) socket.destroy()
    await closed
  }

  #accept(client: Socket): void {
    client.on('error', () => {})
    client.setNoDelay(true)
    if (this.#cut === 'refused') client.destroy()
    if (this.#cut === 'silent') {
      this.#waiting.add(client)
      client.once('close', () => this.#waiting.delete(client))
    }
    if (this.#cut !== null) return
    const { hostname, port } = this.target()
    const server = connect(Number(port), hostname)
    server.on('error', () => {})
    server.setNoDelay(true)
    const pair: Pair = { client, server, isBus: false }
    this.#pairs.add(pair)
    for (const socket of [client, server])
      socket.once('close', () => {
        this.#pairs.delete(pair)
        // What the other side has sent still arrives.
        client.destroySoon()
        server.destroySoon()
      })
    client.on('data', (bytes: Buffer) => {
      this.#look(pair, bytes)
      if (!server.write(bytes)) this.#pauseUntilDrained(client, server)
    })
    server.on('data', (bytes: Buffer) => {
      if (!client.write(bytes)) this.#pauseUntilDrained(server, client)
    })
    client.resume()
  }

  #pauseUntilDrained(from: Socket, to: Socket): void {
    from.pause()
    to.once('drain', () => {
      if (this.#cut === null) from.resume()
    })
  }

  #look(pair: Pair, bytes: Buffer): void {
    if (pair.isBus) return
    pair.isBus = busWords.some((word) => bytes.includes(word))
    if (pair.isBus && this.#isBusCut) end(pair)
  }
}

function end({ client, server }: Pair): void {
  client.destroy()
  server.destroy()
}
