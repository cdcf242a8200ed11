import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { memoryDisk, PostgresCluster, testBackends } from '../src/index.js'

async function query(cluster: PostgresCluster, text: string) {
  const client = new pg.Client({ connectionString: cluster.urlOf('postgres') })
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

const start = () => PostgresCluster.start({ folder: memoryDisk(), settings: { fsync: 'off' } })
const values = async (cluster: PostgresCluster) =>
  (await query(cluster, 'SELECT value FROM numbers ORDER BY value')).map(({ value }) => value)

describe.runIf(testBackends().some(({ name }) => name === 'postgres'))(
  'a standby that is promoted',
  () => {
    it('has every commit of a synchronous primary, also of one that was killed', async () => {
      await using primary = await start()
      await query(primary, 'CREATE TABLE numbers (value integer)')
      await using standby = await primary.startStandby()
      await primary.makeSynchronous()
      await query(primary, 'INSERT INTO numbers VALUES (1)')
      await primary.kill9()
      await standby.promote()
      await query(standby, 'INSERT INTO numbers VALUES (2)')
      expect(await values(standby)).toEqual([1, 2])
    })

    it('lacks the commits since it was cut from its primary, and is followed by the next one', async () => {
      await using primary = await start()
      await query(primary, 'CREATE TABLE numbers (value integer)')
      await using standby = await primary.startStandby()
      await query(primary, 'INSERT INTO numbers VALUES (1)')
      await primary.waitForStandby(standby)
      await standby.detach()
      await query(primary, 'INSERT INTO numbers VALUES (2)')
      await primary.kill9()
      await standby.promote()
      expect(await values(standby)).toEqual([1])
      await using next = await standby.startStandby()
      await query(standby, 'INSERT INTO numbers VALUES (3)')
      await standby.waitForStandby(next)
      expect(await values(next)).toEqual([1, 3])
    })
  },
)
