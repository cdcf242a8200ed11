import { type IncomingMessage, request, type ServerResponse } from 'node:http'
import { connect } from 'node:net'
import type { Duplex } from 'node:stream'
import type { DemoNode } from './demo-node.js'

/**
 * Passes the calls and the connections of one side to a node. The side stays on the node of its
 * WebSocket while that runs, and has a node of its own that it prefers.
 */
export class SideBalancer {
  readonly #connections = new Set<Duplex>()
  #connected: { readonly node: DemoNode; readonly socket: Duplex } | null = null

  /**
   * @param order the nodes, the preferred one first
   * @param connected called with the node of each new WebSocket
   */
  constructor(
    private readonly order: readonly DemoNode[],
    private readonly connected: (node: DemoNode) => void,
  ) {}

  /** The node of the WebSocket; null: there is none. */
  get node(): DemoNode | null {
    return this.#connected?.node ?? null
  }

  /** @param path the path at the node */
  pass(incoming: IncomingMessage, response: ServerResponse, path: string): void {
    const node = this.#choose()
    if (!node) return void response.destroy()
    const { method, headers } = incoming
    const outgoing = request(
      { host: '127.0.0.1', port: node.port, path, method, headers, agent: false },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.rawHeaders)
        answer.pipe(response)
        answer.once('error', () => response.destroy())
      },
    )
    // The client calls again, as after any lost connection.
    outgoing.once('error', () => response.destroy())
    response.once('close', () => outgoing.destroy())
    incoming.pipe(outgoing)
  }

  /** Connects a WebSocket. @param head the bytes that follow the request */
  upgrade(incoming: IncomingMessage, socket: Duplex, head: Buffer, path: string): void {
    const node = this.#choose()
    this.#keep(socket)
    if (!node) return void socket.destroy()
    const upstream = connect(node.port, '127.0.0.1')
    this.#keep(upstream)
    socket.once('close', () => upstream.destroy())
    upstream.once('close', () => {
      if (this.#connected?.socket === upstream) this.#connected = null
      socket.destroy()
    })
    upstream.once('connect', () => {
      this.#connected = { node, socket: upstream }
      this.connected(node)
      upstream.write(requestHead(incoming, path))
      upstream.write(head)
      socket.pipe(upstream).pipe(socket)
    })
  }

  /** Closes all WebSockets. */
  close(): void {
    for (const socket of this.#connections) socket.destroy()
  }

  #choose(): DemoNode | undefined {
    const present = this.#connected?.node
    return present?.state === 'running'
      ? present
      : this.order.find(({ state }) => state === 'running')
  }

  #keep(socket: Duplex): void {
    this.#connections.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => this.#connections.delete(socket))
  }
}

function requestHead({ method, rawHeaders }: IncomingMessage, path: string): string {
  const lines = [`${method} ${path} HTTP/1.1`]
  for (let index = 0; index < rawHeaders.length; index += 2)
    lines.push(`${rawHeaders[index]}: ${rawHeaders[index + 1]}`)
  return `${lines.join('\r\n')}\r\n\r\n`
}
