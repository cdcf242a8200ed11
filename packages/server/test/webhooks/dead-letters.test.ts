/** Dead letters end after 30 days. */
import { testBackends } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { newHealth } from '../../dist/domain/webhooks/endpoints/endpoint-model.js'
import { EndpointStore } from '../../dist/domain/webhooks/endpoints/endpoint-store.js'
import { DeadLetterPurge } from '../../dist/domain/webhooks/waiting/dead-letter-purge.js'
import { WaitingEventStore } from '../../dist/domain/webhooks/waiting/waiting-event-store.js'
import { DatabasePlace } from '../support/database/database-place.js'

const dayMs = 86_400_000
const appId = 'test'
const [first, second] = [
  { appId, endpointId: 1 },
  { appId, endpointId: 2 },
]

function endpointOf(key: typeof first) {
  return {
    ...key,
    url: 'https://hooks.example.com/',
    description: '',
    kinds: [],
    receivers: [],
    format: 'standard' as const,
    sealed: '',
    concurrency: 1,
    batchSize: 1,
    timeoutMs: 1_000,
    isEnabled: true,
    stateReason: '' as const,
    position: 0,
    health: newHealth,
    replay: null,
    version: 1,
    createdAt: 0,
    updatedAt: 0,
  }
}

describe.each(testBackends())('dead letters on $name', (backend) => {
  it('are deleted 30 days after their event, in steps; younger ones and waiting events stay', async () => {
    await using place = await DatabasePlace.create(backend)
    const { database } = place
    const waiting = new WaitingEventStore(database)
    const endpoints = new EndpointStore()
    for (const key of [first, second])
      await database.transaction((tx) => endpoints.insert(tx, endpointOf(key)))
    const now = 40 * dayMs
    const add = async (endpoint: typeof first, days: readonly number[], isDead: boolean) => {
      const events = days.map((day, index) => ({
        ...endpoint,
        kind: 'message.stored' as const,
        position: index + (isDead ? 1 : 10_001),
        place: 1,
        name: '',
        key: 'app',
        createdAt: day * dayMs,
        payload: '{}',
      }))
      const attempt = { attempts: 5, nextAt: 0, isDead, status: 400, error: '' }
      await waiting.add(events, attempt)
    }
    await add(first, [...Array(2_500).fill(5), 15, 35], true)
    await add(first, [5], false)
    await add(second, [20], true)
    const clock = { now: () => now }
    const purge = new DeadLetterPurge({ database, endpoints, waiting, clock })
    await purge.run(new AbortController().signal)
    const counts = await database.read((db) => waiting.counts(db, appId))
    expect([counts.get(1), counts.get(2)]).toEqual([
      { waiting: 1, dead: 2 },
      { waiting: 0, dead: 1 },
    ])
  })
})
