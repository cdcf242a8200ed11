import { IncomingMessage, type Server, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { AppError } from '@hermod/protocol'
import type { Edge } from '../edge/edge.js'
import { failureAnswer } from './failure.js'
import { jsonContentType, privateAnswer, type Responses } from './responses.js'
import type { RouteFamily } from './routes/router.js'
import { originForm } from './target.js'

/** Takes over the sockets of WebSocket requests to one path. */
export interface UpgradeTarget {
  readonly path: string
  /**
   * @param head bytes after the request
   * @throws AppError that the request is answered with, in its HTTP class
   */
  upgrade(request: IncomingMessage, socket: Socket, head: Buffer): void
}

/**
 * A request that asks for no other upgrade than a WebSocket. Some clients offer HTTP/2 with every
 * request (`Upgrade: h2c`), and a server may ignore that (RFC 9110, section 7.8); Node would take
 * such a request for an upgrade as soon as there is a listener for upgrades.
 */
export class WebSocketOnlyMessage extends IncomingMessage {
  #upgrade = false

  get upgrade(): boolean {
    return this.#upgrade && (this.method === 'CONNECT' || isWebSocket(this))
  }

  set upgrade(value: boolean) {
    // Node's constructor sets it before this field exists.
    if (#upgrade in this) this.#upgrade = value
  }
}

function isWebSocket({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket'
}

/** Passes WebSocket requests to their target, and refuses those to other paths. */
export function acceptUpgrades(
  server: Server,
  target: UpgradeTarget,
  {
    responses,
    edge,
    onError,
  }: {
    readonly responses: Responses
    readonly edge: Pick<Edge, 'connections'>
    onError(error: unknown): void
  },
): void {
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    // An answer to this request would come before those to earlier ones.
    if (edge.connections.isBusy(socket)) {
      socket.destroy()
      return
    }
    try {
      const [path] = originForm(request.url ?? '/').split('?')
      if (path !== target.path) throw new AppError('path_not_found')
      target.upgrade(request, socket, head)
    } catch (error) {
      if (!(error instanceof AppError)) onError(error)
      const failure = error instanceof AppError ? error : new AppError('internal_error')
      refuseUpgrade(socket, failure, responses.nextRequestId())
    }
  })
}

/** Returns the route that answers requests without an upgrade. */
export function upgradeRoutes({ path }: UpgradeTarget, responses: Responses): RouteFamily {
  return {
    exact: [
      [
        path,
        'GET',
        async (request, response) => {
          const { body } = failureAnswer(new AppError('upgrade_required'), 'mirror')
          const headers = ['content-type', jsonContentType, 'upgrade', 'websocket']
          responses.write(request, response, { status: 426, headers, body })
        },
      ],
    ],
  }
}

/** Answers on the bare socket, since the request is no longer Node's. */
function refuseUpgrade(socket: Socket, failure: AppError, requestId: string): void {
  const { body, status, retryAfterSeconds } = failureAnswer(failure, 'mirror')
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `content-type: ${jsonContentType}`,
    `content-length: ${Buffer.byteLength(body)}`,
    ...privateAnswer.map(([name, value]) => `${name}: ${value}`),
    `x-request-id: ${requestId}`,
    ...(retryAfterSeconds === undefined ? [] : [`retry-after: ${retryAfterSeconds}`]),
    'sec-websocket-version: 13',
    'connection: close',
  ]
  // The client may cut the connection first.
  socket.on('error', () => socket.destroy())
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroySoon())
}
