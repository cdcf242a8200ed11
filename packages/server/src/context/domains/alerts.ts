import type { DiskSpace } from '../../blobs/disk-floor.js'
import type { ServerConfig } from '../../config/config.js'
import type { ServerSecrets } from '../../config/secrets.js'
import { IdentityStore } from '../../db/identity/identity-store.js'
import type { AlertSources } from '../../domain/alerts/alert-conditions.js'
import { AlertSender } from '../../domain/alerts/alert-sender.js'
import { AlertService } from '../../domain/alerts/alert-service.js'
import { AlertStore } from '../../domain/alerts/alert-store.js'
import { minuteMs } from '../../lib/clock.js'
import type { StoredNode } from '../../nodes/node-rows.js'
import type { Outbound } from '../adapters/outbound.js'
import { isDatabaseFailure } from '../database/database-log.js'
import type { Domain } from '../domain.js'
import type { Infrastructure } from '../infrastructure.js'

interface CreateAlertsOptions
  extends Pick<AlertSources, 'backup' | 'certificates' | 'disabledEndpoints'> {
  /** Returns the space of the disk of the files of this node. */
  readonly disk: () => DiskSpace
  readonly config: ServerConfig
  readonly secrets: ServerSecrets
  readonly outbound: Outbound
}

export function createAlerts(
  { database, stores, ids, clock, metrics, log }: Infrastructure,
  { config, secrets, outbound, backup, disk, certificates, disabledEndpoints }: CreateAlertsOptions,
) {
  const identity = new IdentityStore()
  const isEmbedded = database.dialect.name === 'sqlite'
  const { url } = config.alerts
  const { publicUrl } = config.http
  const alerts = new AlertService({
    database,
    store: new AlertStore(),
    sources: {
      ...{ backup, certificates, disabledEndpoints },
      disks: async () =>
        isEmbedded ? [{ node: null, ...disk() }] : disksOf(await stores.nodes.list()),
      nodes: async () => (isEmbedded ? [] : stores.nodes.list()),
      lostHistories: async () => database.read((db) => identity.countLosses(db)),
    },
    sender:
      url === null
        ? null
        : new AlertSender({
            client: outbound.client,
            ...{ url, secret: secrets.alertSecret ?? '', publicUrl, clock },
          }),
    ids,
    clock,
    observer: {
      raised(alert, text) {
        metrics.alerts.raised(alert)
        log.error({ alert }, `alert: ${text}`)
      },
      sent(alert, outcome, error) {
        metrics.alerts.sent(outcome)
        if (outcome === 'failed') log.warn({ alert, reason: error }, 'alert was not delivered')
      },
      failed(alert, error) {
        if (!isDatabaseFailure(error)) log.warn({ alert, err: error }, 'condition is not known')
      },
    },
  })
  return {
    services: { alerts },
    maintenanceTasks: [
      { name: 'alerts', intervalMs: minuteMs, run: (signal) => alerts.run(signal) },
    ],
  } satisfies Domain
}

/** Returns the disks of nodes with a heartbeat. */
function disksOf(nodes: readonly StoredNode[]) {
  return nodes.flatMap(({ nodeId, host, state, figures: { disk } }) =>
    state === 'dead' || !disk ? [] : [{ node: `${nodeId} (${host})`, ...disk }],
  )
}
