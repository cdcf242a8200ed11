import type { Bus } from '../../bus/bus.js'
import type { Database } from '../../db/database.js'
import {
  type SessionAdmission,
  SharedAdmission,
  SoleAdmission,
} from '../../domain/sessions/session-admission.js'
import { SessionFeed } from '../../domain/sessions/session-feed.js'
import { SessionRepair } from '../../domain/sessions/session-repair.js'
import type { SessionStore } from '../../domain/sessions/session-store.js'
import { SessionWriter } from '../../domain/sessions/session-writer.js'
import type { IdGenerator } from '../../lib/ids/ids.js'
import type { ThisNode } from '../../nodes/node.js'
import type { Logger } from '../../observability/log.js'
import type { Metrics } from '../../observability/metrics.js'
import type { SessionDirectory } from '../../sessions/directory.js'
import type { SessionRegistry } from '../../sessions/registry.js'
import { SharedDirectory } from '../../sessions/shared-directory.js'
import { isDatabaseFailure } from '../database/database-log.js'

interface SessionsOptions {
  readonly database: Database
  readonly bus: Bus
  readonly store: SessionStore
  readonly node: ThisNode
  readonly sessions: SessionRegistry
  readonly ids: IdGenerator
  /** Open sessions of one user. */
  readonly sessionsPerUser: number
  readonly metrics: Metrics
  readonly log: Logger
}

/** The sessions of all nodes. */
export interface NodeSessions {
  readonly directory: SessionDirectory
  readonly admission: SessionAdmission
  /** Openings that wait for their row. */
  readonly queued: number
  start(): Promise<void>
  stop(): Promise<void>
}

/** Makes the sessions of all nodes; with the embedded database those of this one. */
export function createNodeSessions(options: SessionsOptions): NodeSessions {
  if (options.database.dialect.name === 'postgres') return sharedSessions(options)
  return {
    directory: options.sessions,
    admission: new SoleAdmission(options),
    queued: 0,
    start: async () => {},
    stop: async () => {},
  }
}

function sharedSessions({
  database,
  bus,
  store,
  node,
  sessions,
  ids,
  sessionsPerUser,
  metrics,
  log,
}: SessionsOptions): NodeSessions {
  const directory = new SharedDirectory({ registry: sessions, node })
  const repair = new SessionRepair({
    ...{ database, store, node, sessions },
    repaired: (counts) => metrics.sessions.repaired(counts),
  })
  const feed = new SessionFeed({
    ...{ database, store, node, directory, repair },
    failed(error) {
      if (!isDatabaseFailure(error))
        log.error({ err: error }, 'the sessions of other nodes cannot be read')
    },
  })
  const writer = new SessionWriter({
    ...{ database, store, node, sessionsPerUser },
    displaced(displaced) {
      for (const { nodeId, appId, userId, id } of displaced)
        bus.publish('session.displaced', { to: nodeId, appId, userId, sessionId: id })
    },
    leaseChanged: () => feed.repairSoon(),
    failed: () => feed.repairSoon(),
    observer: {
      ...metrics.storage.batches.sessions,
      dropped: () => metrics.sessions.dropped(),
    },
  })
  sessions.listen({
    wentOnline() {},
    wentOffline() {},
    sessionClosed: (session) => writer.close(session),
  })
  // What a commit promised may be lost with a connection, and a lease that was ended has no sessions.
  database.dialect.onLostConnection?.(() => feed.repairSoon())
  node.onNewLease(() => feed.repairSoon())
  metrics.sessions.watch(() => ({
    ageSeconds: feed.ageSeconds,
    elsewhere: directory.holders.reduce((sum, holder) => sum + holder.sessions, 0),
  }))
  // The table of sessions says the same a second later.
  bus.subscribe('session.displaced', ({ to, appId, userId, sessionId }) => {
    if (to !== node.id) return
    const session = sessions.ofUser(appId, userId).find(({ id }) => id === sessionId)
    session?.link.close('replaced', 'replaced')
  })
  return {
    directory,
    admission: new SharedAdmission({ ids, writer }),
    get queued() {
      return writer.queued
    },
    start: () => feed.start(),
    async stop() {
      await writer.idle()
      await feed.stop()
    },
  }
}
