/** A TCP proxy with one address before servers that come and go; it cuts connections after any byte. */
import { type AddressInfo, createServer, type Server, Socket } from 'node:net'

interface Pair {
  readonly client: Socket
  readonly server: Socket
  /** Bytes to the client until the cut. */
  left: number
}

export class CutProxy implements AsyncDisposable {
  /** True: connections are refused. */
  isAway = false
  /** Hears what is sent to the client. */
  onText: (text: string) => void = () => {}
  readonly #pairs = new Set<Pair>()

  private constructor(
    private readonly listener: Server,
    private readonly target: () => number,
  ) {
    listener.on('connection', (client) => this.#connect(client))
  }

  /** @param target the port of the server that runs now */
  static async start(target: () => number): Promise<CutProxy> {
    const listener = createServer({ pauseOnConnect: true })
    const proxy = new CutProxy(listener, target)
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
    return proxy
  }

  get url(): string {
    return `http://127.0.0.1:${(this.listener.address() as AddressInfo).port}`
  }

  /** Cuts all connections, each after so many further bytes to the client. */
  cutAfter(bytes: number): void {
    for (const pair of this.#pairs) {
      pair.left = bytes
      if (bytes === 0) this.#end(pair)
    }
  }

  /** Nothing arrives at the client for a while, and nothing ends. */
  pause(isPaused: boolean): void {
    for (const { server } of this.#pairs)
      if (isPaused) server.pause()
      else server.resume()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cutAfter(0)
    await new Promise((resolve) => this.listener.close(resolve))
  }

  #connect(client: Socket): void {
    if (this.isAway) {
      client.destroy()
      return
    }
    const server = new Socket()
    const pair: Pair = { client, server, left: Number.POSITIVE_INFINITY }
    this.#pairs.add(pair)
    for (const socket of [client, server]) {
      socket.on('error', () => this.#end(pair))
      socket.on('close', () => this.#end(pair))
    }
    server.connect(this.target(), '127.0.0.1', () => client.resume())
    client.on('data', (chunk) => server.write(chunk))
    server.on('data', (chunk) => {
      this.onText(String(chunk))
      client.write(chunk.length > pair.left ? chunk.subarray(0, pair.left) : chunk)
      if (chunk.length >= pair.left) this.#end(pair)
      else pair.left -= chunk.length
    })
  }

  #end(pair: Pair): void {
    if (!this.#pairs.delete(pair)) return
    // What was written before arrives; then comes the end without a close frame.
    pair.client.destroySoon()
    pair.server.destroy()
  }
}
