import { once } from 'node:events'
import { createConnection, type Socket } from 'node:net'
import { waitFor } from '@hermod/testkit'

export interface RawAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

const timeoutMs = 20_000

/** A bare connection, for requests that no HTTP client would send. */
export class RawConnection implements Disposable {
  readonly #socket: Socket
  #received = Buffer.alloc(0)
  #isClosed = false

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.on('data', (chunk) => {
      this.#received = Buffer.concat([this.#received, chunk])
    })
    socket.on('close', () => {
      this.#isClosed = true
    })
    // A server that refuses to read on may cut the connection while this side still writes; what it
    // answered is what counts.
    socket.on('error', () => {})
  }

  static async open(url: string): Promise<RawConnection> {
    const { hostname, port } = new URL(url)
    const socket = createConnection({ host: hostname, port: Number(port) })
    await once(socket, 'connect')
    return new RawConnection(socket)
  }

  send(bytes: string | Uint8Array): void {
    this.#socket.write(bytes)
  }

  /** Closes this side; answers still arrive. */
  end(): void {
    this.#socket.end()
  }

  /** The next answer; taken off what was received. */
  async answer(): Promise<RawAnswer> {
    return waitFor(() => this.#take(), {
      what: 'an answer on the bare connection',
      timeoutMs,
      everyMs: 2,
    })
  }

  async closed(): Promise<void> {
    await waitFor(() => this.#isClosed, {
      what: 'the end of the bare connection',
      timeoutMs,
      everyMs: 2,
    })
  }

  [Symbol.dispose](): void {
    this.#socket.destroy()
  }

  #take(): RawAnswer | undefined {
    const headEnd = this.#received.indexOf('\r\n\r\n')
    if (headEnd < 0) {
      if (this.#isClosed)
        throw new Error(`closed after ${JSON.stringify(this.#received.toString('latin1'))}`)
      return undefined
    }
    const [statusLine = '', ...lines] = this.#received
      .subarray(0, headEnd)
      .toString('latin1')
      .split('\r\n')
    const headers = Object.fromEntries(
      lines.map((line) => [
        line.slice(0, line.indexOf(':')).toLowerCase(),
        line.slice(line.indexOf(':') + 1).trim(),
      ]),
    )
    const end = headEnd + 4 + Number(headers['content-length'] ?? 0)
    if (this.#received.length < end) return undefined
    const body = this.#received.subarray(headEnd + 4, end).toString('utf8')
    this.#received = this.#received.subarray(end)
    return { status: Number(statusLine.split(' ')[1]), headers, body }
  }
}

/** What a server answers first to some bytes. */
export async function answerTo(
  url: string,
  ...bytes: readonly (string | Uint8Array)[]
): Promise<RawAnswer> {
  using connection = await RawConnection.open(url)
  for (const part of bytes) connection.send(part)
  return await connection.answer()
}
