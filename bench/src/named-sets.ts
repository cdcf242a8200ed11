/** The sets of measurements that run only when they are named, in the order of the report. */
import { measureBackup } from './backup/backup.js'
import { measureCalls } from './calls/calls.js'
import { measureClient } from './client/client.js'
import { measureFiles } from './files/files.js'
import { measureGrowth } from './growth/growth.js'
import type { Builds, Storage } from './measure/build.js'
import type { Effort } from './measure/measure.js'
import { measureNodes } from './nodes/nodes.js'
import { measureOnline } from './online/online.js'
import type { SetName, SetOptions } from './options.js'
import { measurePush } from './push/push.js'
import { measureReactions } from './reactions/reactions.js'
import { measureRealtime } from './realtime/realtime.js'
import { backupTable } from './report/backup-report.js'
import { callsTables } from './report/calls-report.js'
import { clientTables } from './report/client-report.js'
import { filesTable } from './report/files-report.js'
import { growthTables } from './report/growth-report.js'
import { nodesTables } from './report/nodes-report.js'
import { onlineTables } from './report/online-report.js'
import { pushTables } from './report/push-report.js'
import { reactionsTables } from './report/reactions-report.js'
import { realtimeTables } from './report/realtime-report.js'
import { streamsTables } from './report/streams-report.js'
import { webhookTables } from './report/webhooks-report.js'
import { measureStreams } from './streams/streams.js'
import { measureWebhooks } from './webhooks/webhooks.js'

interface NamedSet<Name extends SetName, Figures extends object> {
  readonly name: Name
  /** Measures on one database. */
  measure(
    storage: Storage,
    builds: Builds,
    options: SetOptions[Name] & Effort,
    onProgress: (text: string) => void,
  ): Promise<readonly Figures[]>
  /** Returns the tables of all databases; "" without figures. */
  report(figures: readonly Figures[]): string
}

/** Figures by the name of their set, of all databases. */
export type NamedFigures = Partial<Readonly<Record<SetName, readonly object[]>>>

/** Checks that options, figures and tables of a set belong together. */
function checked<Name extends SetName, Figures extends object>(
  set: NamedSet<Name, Figures>,
): NamedSet<SetName, object> {
  return set
}

/** All sets. */
export const namedSets = [
  checked({ name: 'growth', measure: measureGrowth, report: growthTables }),
  checked({ name: 'push', measure: measurePush, report: pushTables }),
  checked({ name: 'files', measure: measureFiles, report: filesTable }),
  checked({ name: 'realtime', measure: measureRealtime, report: realtimeTables }),
  checked({ name: 'online', measure: measureOnline, report: onlineTables }),
  checked({ name: 'reactions', measure: measureReactions, report: reactionsTables }),
  checked({ name: 'streams', measure: measureStreams, report: streamsTables }),
  checked({ name: 'client', measure: measureClient, report: clientTables }),
  checked({ name: 'webhooks', measure: measureWebhooks, report: webhookTables }),
  checked({ name: 'nodes', measure: measureNodes, report: nodesTables }),
  checked({ name: 'calls', measure: measureCalls, report: callsTables }),
  checked({ name: 'backup', measure: measureBackup, report: backupTable }),
]
