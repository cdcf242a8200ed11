import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/** A connection to PostgreSQL, which serves one transaction of a client at a time. */
interface Backend {
  readonly socket: Socket
  client: Socket | null
}

// https://www.postgresql.org/docs/15/protocol-message-formats.html
const welcome = Buffer.from('R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I', 'latin1')
const readyForQuery = 0x5a
const idle = 0x49

/**
 * A pooler of transactions, as PgBouncer is in this mode: a client gets any free connection for
 * each of its transactions.
 */
export class TransactionPooler implements AsyncDisposable {
  readonly #server: Server
  readonly #target: { readonly host: string; readonly port: number }
  readonly #backends: Backend[] = []
  readonly #sockets = new Set<Socket>()

  private constructor(
    url: URL,
    private readonly passesOptions: boolean,
  ) {
    this.#target = { host: url.hostname, port: Number(url.port) }
    this.#server = createServer((client) => void this.#serve(client))
  }

  /** @param options.passesOptions the connections to PostgreSQL get the options of the first client */
  static async start(
    databaseUrl: string,
    { passesOptions }: { readonly passesOptions: boolean },
  ): Promise<{ pooler: TransactionPooler; url: string }> {
    const url = new URL(databaseUrl)
    const pooler = new TransactionPooler(url, passesOptions)
    pooler.#server.listen(0, '127.0.0.1')
    await once(pooler.#server, 'listening')
    url.port = String((pooler.#server.address() as AddressInfo).port)
    return { pooler, url: String(url) }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
  }

  async #serve(client: Socket): Promise<void> {
    this.#watch(client)
    const [startup] = (await once(client, 'data')) as [Buffer]
    client.write(welcome)
    client.on('data', (bytes) => {
      const backend =
        this.#backends.find((each) => each.client === client) ??
        this.#backends.find((each) => each.client === null) ??
        this.#open(startup)
      backend.client = client
      backend.socket.write(bytes)
    })
  }

  #open(startup: Buffer): Backend {
    const socket = connect(this.#target)
    this.#watch(socket)
    const backend: Backend = { socket, client: null }
    this.#backends.push(backend)
    let isStarting = true
    let unread = Buffer.alloc(0)
    socket.write(this.passesOptions ? startup : withoutOptions(startup))
    socket.on('data', (bytes) => {
      unread = Buffer.concat([unread, bytes])
      for (let end = endOfMessage(unread); end <= unread.length; end = endOfMessage(unread)) {
        const message = unread.subarray(0, end)
        unread = unread.subarray(end)
        if (!isStarting) backend.client?.write(message)
        if (message[0] !== readyForQuery) continue
        if (!isStarting && message[5] === idle) backend.client = null
        isStarting = false
      }
    })
    return backend
  }

  #watch(socket: Socket): void {
    this.#sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => this.#sockets.delete(socket))
  }
}

/** @returns a number above the length while the message is not complete */
function endOfMessage(bytes: Buffer): number {
  return bytes.length < 5 ? Number.POSITIVE_INFINITY : 1 + bytes.readInt32BE(1)
}

/** @param startup its parameters are texts that end with zero bytes: names and values in turn */
function withoutOptions(startup: Buffer): Buffer {
  const texts = startup.toString('latin1', 8).split('\0').slice(0, -2)
  const at = texts.indexOf('options')
  texts.splice(at, 2)
  const parameters = Buffer.from(`${texts.join('\0')}\0\0`, 'latin1')
  const head = Buffer.from(startup.subarray(0, 8))
  head.writeInt32BE(8 + parameters.length)
  return Buffer.concat([head, parameters])
}
