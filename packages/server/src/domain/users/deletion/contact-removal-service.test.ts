import { expect, it } from 'vitest'
import type { Database, Tx } from '../../../db/database.js'
import type { JobQueue } from '../../../jobs/job-queue.js'
import type { Outbox } from '../../../outbox/outbox.js'
import { ContactRemovalService } from './contact-removal-service.js'

it('the deletion of a user with many contacts orders one step for each 500 of them', async () => {
  const relatedIds = Array.from({ length: 1_001 }, (_, index) => index + 10)
  const steps: number[] = []
  const service = new ContactRemovalService({
    database: {} as Database,
    contacts: { listRelated: async () => relatedIds },
    outbox: {} as Outbox,
    jobs: {
      enqueue: async (_tx: Tx, _kind: object, job: { payload: { relatedIds: number[] } }) => {
        steps.push(job.payload.relatedIds.length)
      },
    } as unknown as JobQueue,
  })
  await service.order({} as Tx, { appId: 'app', userId: 1 })
  expect(steps).toEqual([500, 500, 1])
})
