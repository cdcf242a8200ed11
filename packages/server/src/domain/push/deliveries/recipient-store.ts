import type { Int64 } from '@hermod/protocol'
import type { Database, Queryable } from '../../../db/database.js'
import { groupBy } from '../../../lib/group-by.js'
import type { DeviceBinding } from './channel-choice.js'
import { deviceName } from './delivery-model.js'
import { type BindingRow, findBindings, type RecipientFacts, readFacts } from './recipient-facts.js'

/** Reads what decides how users are pushed to. */
export class RecipientStore {
  constructor(private readonly database: Database) {}

  /** Of users who are there. */
  async facts(
    db: Queryable,
    appId: string,
    userIds: readonly Int64[],
  ): Promise<ReadonlyMap<Int64, RecipientFacts>> {
    return readFacts((statement, rows) => this.database.bulk(db, statement, rows), appId, userIds)
  }

  /** The bindings of devices, by {@link deviceName}. */
  async bindings(
    db: Queryable,
    appId: string,
    userIds: readonly Int64[],
  ): Promise<ReadonlyMap<string, readonly DeviceBinding[]>> {
    const keys = [...new Set(userIds)].map((userId) => [appId, userId])
    const rows = await this.database.bulk<BindingRow>(db, findBindings, keys)
    return groupBy(rows, deviceName)
  }
}
