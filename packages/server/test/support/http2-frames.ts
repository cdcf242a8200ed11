/** Servers that speak HTTP/2 by hand, for what Node's own server cannot be told to do. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { connect, createServer, type TLSSocket } from 'node:tls'
import type { TestAuthority } from '@hermod/push-simulator'

const prefaceBytes = 24
const headBytes = 9
const frameTypes = { headers: 1, settings: 4, goAway: 7 }

/** RFC 9113, 4.1: length, type, flags and stream, then the payload. */
function frame(type: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(headBytes)
  head.writeUIntBE(payload.length, 0, 3)
  head.writeUInt8(type, 3)
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

function goAwayFrame(lastStream: number): Buffer {
  const payload = Buffer.alloc(8)
  payload.writeUInt32BE(lastStream, 0)
  return frame(frameTypes.goAway, 0, payload)
}

/**
 * Its first connection takes streams and then sends a GOAWAY that names none of them, without
 * ending the connection; the next ones are forwarded to a gateway.
 */
export class GoAwayServer implements AsyncDisposable {
  /** Streams of the first connection that were left behind. */
  leftBehind = 0
  readonly #server
  readonly #sockets = new Set<TLSSocket>()
  #connections = 0

  private constructor(authority: TestAuthority, port: number, streams: number) {
    this.#server = createServer({ ...authority.server(), ALPNProtocols: ['h2'] }, (socket) => {
      this.#keep(socket)
      if (this.#connections++ === 0) this.#leave(socket, streams)
      else {
        const options = { host: '127.0.0.1', port, ca: authority.ca, ALPNProtocols: ['h2'] }
        const far = this.#keep(connect(options))
        socket.pipe(far)
        far.pipe(socket)
      }
    })
  }

  /** @param streams how many are taken before the GOAWAY */
  static async start(options: {
    readonly authority: TestAuthority
    readonly port: number
    readonly streams: number
  }): Promise<GoAwayServer> {
    const server = new GoAwayServer(options.authority, options.port, options.streams)
    server.#server.listen(0, '127.0.0.1')
    await once(server.#server, 'listening')
    return server
  }

  get url(): string {
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #leave(socket: TLSSocket, streams: number): void {
    let received = Buffer.alloc(0)
    let at = prefaceBytes
    socket.write(frame(frameTypes.settings, 0, Buffer.alloc(0)))
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk])
      for (; received.length >= at + headBytes; at += headBytes + received.readUIntBE(at, 3)) {
        if (received.readUInt8(at + 3) !== frameTypes.headers) continue
        if (++this.leftBehind === streams) socket.write(goAwayFrame(0))
      }
    })
  }

  #keep(socket: TLSSocket): TLSSocket {
    this.#sockets.add(socket)
    socket.on('error', () => {})
    return socket.on('close', () => this.#sockets.delete(socket))
  }
}
