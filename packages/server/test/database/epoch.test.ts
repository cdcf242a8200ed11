/** The epoch of the database: `hermod database new-epoch`, and nodes that meet another one. */
import { testBackends, waitFor } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { Epoch } from '../../dist/db/identity/epoch.js'
import { IdentityStore } from '../../dist/db/identity/identity-store.js'
import { OutboxDatabase, patience } from '../support/database/outbox-node.js'
import { callHermod } from '../support/hermod-command.js'
import { WatchedServer } from '../support/watched-server.js'

describe.each(testBackends())('epoch of the database on $name', (backend) => {
  it('new-epoch is refused while a node runs, and renews the epoch once it has stopped', {
    timeout: 60_000,
  }, async () => {
    await using watched = await WatchedServer.start(backend)
    const { server, settings, sql } = watched
    const epoch = async () => (await sql.run('select epoch from database_identity'))[0]?.epoch
    const before = await epoch()
    const newEpoch = () => callHermod(['database', 'new-epoch', '--json'], settings)
    const refused = await newEpoch()
    expect(refused.code).toBe(1)
    expect(refused.err).toMatch(/is in use by process|stop all nodes/)
    expect(await epoch()).toBe(before)
    await server.stop()
    const { code, out } = await newEpoch()
    expect(code).toBe(0)
    const renewed = JSON.parse(out).epoch
    expect(renewed).not.toBe(before)
    expect(JSON.parse((await newEpoch()).out).epoch).not.toBe(renewed)
  })

  it('a node reads the epoch again after a new connection', async () => {
    await using place = await OutboxDatabase.create(backend)
    // The embedded database has no connections that could meet another file.
    if (place.database.url === undefined) return
    await using database = place.openDatabase()
    await using other = place.openDatabase()
    const seen: string[] = []
    const changed = (epoch: string) => void seen.push(epoch)
    const epoch = await Epoch.open({ database, store: new IdentityStore(), changed })
    epoch.subscribe(changed)
    const renewed = await other.transaction((tx) => new IdentityStore().renew(tx))
    expect(seen).toEqual([])
    // Two reads at once need a second connection.
    const pause = () => database.transaction((tx) => new IdentityStore().epoch(tx))
    await waitFor(
      async () => {
        await Promise.all([pause(), pause(), pause()])
        return epoch.current === renewed
      },
      { what: 'the node knows the new epoch', ...patience },
    )
    expect(seen).toEqual([renewed, renewed])
  })
})
