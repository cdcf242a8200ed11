import type { Server } from 'node:http'
import type { Operation } from '@hermod/protocol'
import type { Edge } from '../edge/edge.js'
import type { Executor } from '../pipeline/executor.js'
import type { Principal } from '../pipeline/principal.js'
import type { StatusMode } from './failure.js'
import { Responses } from './responses.js'
import { operationRoutes } from './routes/operations.js'
import type { RouteFamily } from './routes/router.js'
import { createHttpServer } from './server.js'
import { type UpgradeTarget, upgradeRoutes } from './upgrades.js'

interface OperationServerOptions {
  readonly edge: Edge
  readonly executor: Executor
  readonly operations: readonly Operation[]
  /** The principal of every call; null: the credentials of each request say it. */
  readonly principal: Principal | null
  readonly statusMode: StatusMode
  /** The time for which a connection without a request is kept. */
  readonly keepAliveMs: number
  /** Takes WebSockets; the server takes none by default. */
  readonly upgrades?: UpgradeTarget
  /** Reports failures that concern no operation, such as those of pages. */
  onError(error: unknown): void
  /** Further families of routes. */
  families?(responses: Responses): readonly RouteFamily[]
}

/** Returns an HTTP server of operations, which does not listen yet. */
export function createOperationServer(options: OperationServerOptions): Server {
  const { edge, executor, operations, principal, statusMode, keepAliveMs, onError } = options
  const { upgrades = null } = options
  const isDraining = () => executor.isDraining
  const responses = new Responses({ edge, statusMode, isDraining, onError })
  return createHttpServer({
    responses,
    edge,
    keepAliveMs,
    upgrades,
    onError,
    families: [
      operationRoutes({ executor, responses, edge, operations, principal }),
      ...(upgrades === null ? [] : [upgradeRoutes(upgrades, responses)]),
      ...(options.families?.(responses) ?? []),
    ],
  })
}
