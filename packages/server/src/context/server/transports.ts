import { once } from 'node:events'
import { chmodSync, rmSync } from 'node:fs'
import type { IncomingMessage, Server } from 'node:http'
import type { ListenOptions } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { operations } from '@hermod/protocol'
import { gatewayPath } from '@hermod/protocol/gateway'
import { controlSocketPath, fitsSocketPath } from '../../commands/runtime/call.js'
import type { ServerConfig } from '../../config/config.js'
import { connectionLimit } from '../../edge/descriptors.js'
import { Edge } from '../../edge/edge.js'
import type { BoundsObserver } from '../../edge/observer.js'
import { Gateway } from '../../gateway/gateway.js'
import type { GatewayObserver } from '../../gateway/observer.js'
import { createOperationServer } from '../../http/operation-server.js'
import { type AssetRoutesOptions, assetRoutes } from '../../http/routes/assets.js'
import { pageRoutes, servicePages } from '../../http/routes/pages.js'
import { receiptRoutes } from '../../http/routes/receipts.js'
import type { RouteFamily } from '../../http/routes/router.js'
import { Lifecycle } from '../../lib/lifecycle.js'
import { LineLimit } from '../../observability/line-limit.js'
import type { Logger } from '../../observability/log.js'
import { operatorPrincipal } from '../../pipeline/principal.js'
import type { Context } from '../context.js'

interface Transports {
  /** The URL of the operations. */
  readonly url: string
  /** Closes WebSockets a few at a time, and takes no more; calls go on. */
  leave(): Promise<void>
  /** Refuses new work, finishes accepted work, and closes. */
  stop(): Promise<void>
}

/** Makes routes of callers that are no part of the service, such as those of the demo. */
export type MakeRoutes = (options: AssetRoutesOptions) => readonly RouteFamily[]

/** Next to the code, in the package. */
const assetsFolder = fileURLToPath(new URL('../../../assets', import.meta.url))
const closeTimeoutMs = 1_000
/** Connections of the operator to the socket in the data folder. */
const operatorConnections = 16

/** The listeners: HTTP for callers, and a socket in the data folder for the operator. */
export function startTransports(
  context: Pick<
    Context,
    'clock' | 'delivery' | 'executor' | 'limits' | 'metrics' | 'services' | 'sessions' | 'state'
  >,
  {
    config,
    log,
    notReadyReason,
    degraded,
    routes,
  }: {
    readonly config: ServerConfig
    readonly log: Logger
    /** Returns null when the service is ready. */
    notReadyReason(): Promise<string | null>
    /** Names the parts that do not work while the service does. */
    degraded(): readonly string[]
    readonly routes?: MakeRoutes | undefined
  },
): Promise<Transports> {
  const { executor, limits } = context
  const { operatorGuard } = context.services.login
  const { receipts } = context.services.push
  const onError = (error: unknown) => log.error({ err: error }, 'page failed')
  const { storage } = config
  const { bounds, trustProxy, publicUrl, statusMode, keepAliveMs } = config.http
  const edge = new Edge({
    bounds,
    descriptorLimit: connectionLimit(storage.kind === 'postgres' ? storage.maxConnections : 0),
    observer: boundsObserver(context.metrics.connections.bounds, log),
    trustProxy,
    publicUrl,
    origins: config.http.corsOrigins,
  })
  const { connections, bodies, addressOf } = edge
  context.metrics.connections.watch(() => ({
    connections: connections.count,
    waitingRequests: connections.waitingRequests,
    unreadBytes: connections.unreadBytes,
    bodyBytes: bodies.bytes,
  }))
  const admit = (request: IncomingMessage) => {
    limits.requestArrived(addressOf(request))
    connections.requireRoom(request.socket)
  }
  const gateway = new Gateway({
    edge,
    executor,
    delivery: context.delivery,
    sessions: context.sessions,
    limits,
    observer: gatewayObserver(context.metrics.connections.gateway, log),
    bounds: { ...config.gateway, waitingBytes: bounds.bodyBytes },
    pingMs: config.gateway.pingMs,
    clock: context.clock,
    findEndedAccess: (of) => context.services.apps.apps.findEndedAccess(of),
    findUserToken: (appId, token) => context.services.login.tokens.find(appId, token),
    onError: (error) => log.error({ err: error }, 'gateway failed'),
  })
  context.metrics.connections.watchGateway(() => ({
    ...gateway.figures,
    sessions: context.sessions.count,
    followedUsers: context.services.presence.presence.followedCount,
    memberships: context.delivery.membershipCount,
  }))
  const pages = servicePages({
    executor,
    metrics: context.metrics,
    publicUrl,
    notReadyReason,
    degraded,
    isOperatorToken: (token, request) => operatorGuard.isOperatorToken(token, addressOf(request)),
  })
  const server = createOperationServer({
    edge,
    executor,
    operations,
    principal: null,
    statusMode,
    keepAliveMs,
    upgrades: {
      path: gatewayPath,
      upgrade: (request, socket, head) => gateway.upgrade(request, socket, head),
    },
    onError,
    families: (responses) => [
      receiptRoutes({
        responses,
        bodies,
        admit,
        isRefusing: () => executor.isDraining || context.state.isRestored,
        find: (channel, secret) => receipts.find(channel, secret),
      }),
      pageRoutes({ responses, admit }, pages),
      assetRoutes({ responses, admit }, '/docs/', join(assetsFolder, 'docs')),
      ...(routes?.({ responses, admit }) ?? []),
    ],
  })
  // The operator's socket. A caller that may open the socket in the data folder may operate the
  // service.
  const controlEdge = new Edge({
    bounds: { ...bounds, connections: operatorConnections },
    observer: context.metrics.connections.bounds,
    trustProxy,
    publicUrl,
    origins: [],
  })
  const control = createOperationServer({
    edge: controlEdge,
    executor,
    operations: operations.filter(({ callers }) => callers === 'operator'),
    principal: operatorPrincipal,
    statusMode,
    keepAliveMs,
    onError,
  })
  const socketPath = controlSocketPath(config.dataDir)
  if (!fitsSocketPath(socketPath))
    throw new Error(
      `the path of ${config.dataDir} is too long for the socket of the command; choose a shorter HERMOD_DATA_DIR`,
    )
  return Lifecycle.start(async (parts) => {
    rmSync(socketPath, { force: true })
    parts.add(socketPath, (path) => rmSync(path, { force: true }))
    const listening = parts.add([] as Listening[], (all) => Promise.all(all.map(close)))
    await listen(control, { path: socketPath })
    listening.push({ server: control, edge: controlEdge })
    chmodSync(socketPath, 0o600)
    const url = await listen(server, { host: config.http.host, port: config.http.port })
    listening.push({ server, edge })
    parts.add(gateway, async (each) => {
      const { connections } = each.figures
      if (connections > 0) log.info({ connections }, 'WebSockets are closed')
      await each.stop()
    })
    parts.add(executor, () => executor.drain())
    return { url, leave: () => gateway.leave(), stop: () => parts.stop() }
  })
}

/** Counts, and logs at most once a second that descriptors are short. */
function boundsObserver(metrics: BoundsObserver, log: Logger): BoundsObserver {
  const lines = new LineLimit()
  return {
    closed(reason) {
      metrics.closed(reason)
      const more = reason === 'descriptors' ? lines.next() : null
      if (more !== null)
        log.error({ more }, 'connections are closed: few file descriptors are left')
    },
    refused: (reason) => metrics.refused(reason),
  }
}

/** Counts, and logs the end of each connection at the level debug. */
function gatewayObserver(metrics: GatewayObserver, log: Logger): GatewayObserver {
  return {
    ...metrics,
    closed(code) {
      metrics.closed(code)
      log.debug({ code }, 'WebSocket closed')
    },
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

interface Listening {
  readonly server: Server
  readonly edge: Edge
}

/**
 * Closes a server after all its calls are answered. Its open connections are idle, take their last
 * answer, or have sent half a request.
 */
async function close({ server, edge }: Listening): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  server.closeIdleConnections()
  const cut = setTimeout(() => edge.connections.destroyAll(), closeTimeoutMs)
  await closed
  clearTimeout(cut)
}
