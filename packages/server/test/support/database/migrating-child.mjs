/**
 * A start of a later build that is killed in the middle of a change of data. Its only argument is
 * JSON: the settings. It writes `half` when half of the rows are changed, and waits then.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { loadConfig } from '../../../dist/config/config.js'
import { migrateDatabase } from '../../../dist/context/database/migration.js'
import { createLog } from '../../../dist/observability/log.js'
import { sql } from '../../../dist/db/kysely.js'

const release = {
  version: '9.0.0',
  migrations: {
    '002-changes-data': {
      runsWith: 2,
      async up(db) {
        await sql`alter table node_shares add column note text not null default 'none'`.execute(db)
        await sql`update node_shares set note = name where name < '5'`.execute(db)
        process.stdout.write('half\n')
        await sleep(60_000)
      },
    },
  },
}
const loaded = loadConfig(JSON.parse(process.argv[2]))
await migrateDatabase({ ...loaded, log: createLog('silent'), release }, { statusOnly: false })
