import { once } from 'node:events'
import { chmodSync, rmSync } from 'node:fs'
import type { IncomingMessage, Server } from 'node:http'
import type { ListenOptions } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { operations } from '@hermod/protocol'
import { controlSocketPath, fitsSocketPath } from '../../commands/runtime/call.js'
import type { ServerConfig } from '../../config/config.js'
import { addressReader, baseUrlReader, proxyTest } from '../../http/address.js'
import { Bounds } from '../../http/bounds/bounds.js'
import { connectionLimit } from '../../http/bounds/descriptors.js'
import type { BoundsObserver } from '../../http/bounds/observer.js'
import { Cors } from '../../http/cors.js'
import { Responses } from '../../http/responses.js'
import { assetRoutes } from '../../http/routes/assets.js'
import { operationRoutes } from '../../http/routes/operations.js'
import { pageRoutes, servicePages } from '../../http/routes/pages.js'
import { receiptRoutes } from '../../http/routes/receipts.js'
import { createHttpServer } from '../../http/server.js'
import { Lifecycle } from '../../lib/lifecycle.js'
import { LineLimit } from '../../observability/line-limit.js'
import type { Logger } from '../../observability/log.js'
import { operatorPrincipal } from '../../pipeline/principal.js'
import type { Context } from '../context.js'
import type { Readiness } from './readiness.js'

export interface Transports {
  /** Where the operations are served. */
  readonly url: string
  /** Refuses new work, finishes what was accepted, and closes. */
  stop(): Promise<void>
}

/** Beside the code, in the package. */
const assetsFolder = fileURLToPath(new URL('../../../assets', import.meta.url))
const finalLogMs = 1_000
/** Of the operator, on the socket in the data folder. */
const operatorConnections = 16

/** What listens: HTTP for callers, and a socket in the data folder for its operator. */
export function startTransports(
  context: Pick<Context, 'executor' | 'limits' | 'metrics' | 'services'>,
  {
    config,
    log,
    readiness,
  }: { readonly config: ServerConfig; readonly log: Logger; readonly readiness: Readiness },
): Promise<Transports> {
  const { executor, limits } = context
  const { operatorGuard } = context.services.login
  const { receipts } = context.services.push
  const onError = (error: unknown) => log.error({ err: error }, 'page failed')
  const addressOf = addressReader(config.http.trustProxy)
  const baseUrlOf = baseUrlReader(config.http.publicUrl, config.http.trustProxy)
  const cors = new Cors(config.http.corsOrigins)
  const { statusMode } = config.http
  const isDraining = () => executor.isDraining
  const { storage } = config
  const bounds = new Bounds({
    bounds: config.http.bounds,
    descriptorLimit: connectionLimit(storage.kind === 'postgres' ? storage.maxConnections : 0),
    observer: boundsObserver(context.metrics.bounds, log),
    isProxy: proxyTest(config.http.trustProxy),
  })
  const { connections, bodies } = bounds
  context.metrics.watchConnections(() => ({
    connections: connections.count,
    waitingRequests: connections.waitingRequests,
    unreadBytes: connections.unreadBytes,
    bodyBytes: bodies.bytes,
  }))
  const responses = new Responses({ cors, statusMode, connections, isDraining, onError })
  const admit = (request: IncomingMessage) => {
    limits.requestArrived(addressOf(request))
    connections.requireRoom(request.socket)
  }
  const pages = servicePages({
    executor,
    metrics: context.metrics,
    publicUrl: config.http.publicUrl,
    isBehindProxy: config.http.trustProxy !== false,
    notReadyReason: () => readiness.notReadyReason(),
    isOperatorToken: (token, request) => operatorGuard.isOperatorToken(token, addressOf(request)),
  })
  const server = createHttpServer({
    responses,
    bounds,
    onError,
    families: [
      operationRoutes({
        executor,
        responses,
        bounds,
        operations,
        addressOf,
        baseUrlOf,
        principal: null,
      }),
      receiptRoutes({
        responses,
        bodies,
        admit,
        isDraining,
        find: (channel, secret) => receipts.find(channel, secret),
      }),
      pageRoutes({ responses, cors, admit }, pages),
      assetRoutes({ responses, admit }, '/docs/', join(assetsFolder, 'docs')),
    ],
  })
  // The socket of the operator: a caller that may open the socket in the data folder may operate the service.
  const controlBounds = new Bounds({
    bounds: { ...config.http.bounds, connections: operatorConnections },
    observer: context.metrics.bounds,
    isProxy: () => true,
  })
  const controlResponses = new Responses({
    cors: new Cors([]),
    statusMode,
    connections: controlBounds.connections,
    isDraining,
    onError,
  })
  const control = createHttpServer({
    responses: controlResponses,
    bounds: controlBounds,
    onError,
    families: [
      operationRoutes({
        executor,
        responses: controlResponses,
        bounds: controlBounds,
        operations: operations.filter(({ callers }) => callers === 'operator'),
        addressOf,
        baseUrlOf,
        principal: operatorPrincipal,
      }),
    ],
  })
  const socketPath = controlSocketPath(config.dataDir)
  if (!fitsSocketPath(socketPath))
    throw new Error(
      `the path of ${config.dataDir} is too long for the socket of the command; choose a shorter HERMOD_DATA_DIR`,
    )
  return Lifecycle.start(async (parts) => {
    rmSync(socketPath, { force: true })
    parts.add(socketPath, (path) => rmSync(path, { force: true }))
    const listening = parts.add([] as Server[], (servers) => Promise.all(servers.map(close)))
    await listen(control, { path: socketPath })
    listening.push(control)
    chmodSync(socketPath, 0o600)
    const url = await listen(server, { host: config.http.host, port: config.http.port })
    listening.push(server)
    parts.add(executor, () => executor.drain())
    return { url, stop: () => parts.stop() }
  })
}

/** Counts, and says once a second at most that descriptors are short. */
function boundsObserver(metrics: BoundsObserver, log: Logger): BoundsObserver {
  const lines = new LineLimit()
  return {
    closed(reason) {
      metrics.closed(reason)
      const more = reason === 'descriptors' ? lines.next() : null
      if (more !== null) log.error({ more }, 'connections are closed: file descriptors are short')
    },
    refused: (reason) => metrics.refused(reason),
  }
}

/** @returns the URL of a TCP address, '' of a socket file */
async function listen(server: Server, at: ListenOptions): Promise<string> {
  server.listen(at)
  await once(server, 'listening')
  const address = server.address()
  if (typeof address !== 'object' || address === null) return ''
  const host = address.family === 'IPv6' ? `[${address.address}]` : address.address
  return `http://${host}:${address.port}`
}

/** Every call is answered by now; what is open is idle, is taking its last answer, or has sent half a request and stalled. */
async function close(server: Server): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  server.closeIdleConnections()
  const cut = setTimeout(() => server.closeAllConnections(), finalLogMs)
  await closed
  clearTimeout(cut)
}
