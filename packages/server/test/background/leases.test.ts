/** Who has a lease, when several nodes want it. */
import { testBackends } from '@hermod/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Database } from '../../dist/db/database.js'
import { LeaseStore } from '../../dist/jobs/lease-store.js'
import { OutboxDatabase } from '../support/database/outbox-node.js'

const name = 'maintenance/task'
const ttlMs = 30_000

describe.each(testBackends())('leases on $name', (backend) => {
  let place: OutboxDatabase
  let databases: Database[]
  /** Of two nodes that share the database. */
  let first: LeaseStore
  let second: LeaseStore
  let now: number

  beforeEach(async () => {
    place = await OutboxDatabase.create(backend)
    now = 1_000_000
    const clock = { now: () => now }
    databases = [place.openDatabase(), place.openDatabase()]
    ;[first, second] = databases.map((database) => new LeaseStore(database, clock)) as [
      LeaseStore,
      LeaseStore,
    ]
  })

  afterEach(async () => {
    for (const database of databases) await database[Symbol.asyncDispose]()
    await place[Symbol.asyncDispose]()
  })

  it('acquire: one of several owners gets the lease, and no other while it lasts', async () => {
    for (let round = 0; round < 20; round++) {
      const lease = `${name} ${round}`
      const wanted = await Promise.all([
        first.acquire(lease, 'a', ttlMs),
        second.acquire(lease, 'b', ttlMs),
        first.acquire(lease, 'c', ttlMs),
        second.acquire(lease, 'd', ttlMs),
      ])
      expect(wanted.filter((isTaken) => isTaken)).toEqual([true])
      const again = ['a', 'b', 'c', 'd'].map((owner) => second.acquire(lease, owner, ttlMs))
      expect(await Promise.all(again)).toEqual(wanted)
    }
  })

  it('acquire: the owner extends its lease from now', async () => {
    expect(await first.acquire(name, 'a', ttlMs)).toBe(true)
    now += ttlMs - 1
    expect(await first.acquire(name, 'a', ttlMs)).toBe(true)
    now += ttlMs - 1
    expect(await second.acquire(name, 'b', ttlMs)).toBe(false)
    now += 1
    expect(await second.acquire(name, 'b', ttlMs)).toBe(true)
  })

  it('acquire: one owner gets an expired lease, also the earlier one', async () => {
    for (let round = 0; round < 20; round++) {
      const lease = `${name} ${round}`
      expect(await first.acquire(lease, 'a', ttlMs)).toBe(true)
      expect(await second.acquire(lease, 'b', ttlMs)).toBe(false)
      now += ttlMs
      const wanted = await Promise.all([
        first.acquire(lease, 'a', ttlMs),
        second.acquire(lease, 'b', ttlMs),
        second.acquire(lease, 'c', ttlMs),
      ])
      expect(wanted.filter((isTaken) => isTaken)).toEqual([true])
    }
  })

  it('release: frees a lease at once, and only that of its owner', async () => {
    expect(await first.acquire(name, 'a', ttlMs)).toBe(true)
    await second.release(name, 'b')
    expect(await second.acquire(name, 'b', ttlMs)).toBe(false)
    await first.release(name, 'a')
    expect(await second.acquire(name, 'b', ttlMs)).toBe(true)
    // A node that was too slow gives back what another has by now.
    await first.release(name, 'a')
    expect(await first.acquire(name, 'a', ttlMs)).toBe(false)
  })

  it('acquire: names are independent', async () => {
    expect(await first.acquire(name, 'a', ttlMs)).toBe(true)
    expect(await second.acquire('maintenance/other', 'b', ttlMs)).toBe(true)
    await second.release('maintenance/other', 'b')
    expect(await second.acquire(name, 'b', ttlMs)).toBe(false)
  })

  it('endAll: frees the leases of all owners at once', async () => {
    expect(await first.acquire(name, 'a', ttlMs)).toBe(true)
    expect(await first.acquire('maintenance/other', 'b', ttlMs)).toBe(true)
    await databases[0]?.transaction((tx) => first.endAll(tx))
    expect(await second.acquire(name, 'c', ttlMs)).toBe(true)
    expect(await second.acquire('maintenance/other', 'c', ttlMs)).toBe(true)
  })
})
