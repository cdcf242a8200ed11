/**
 * Audiences that are resolved page by page (decision 030), on both databases: whatever ends a run,
 * and however runs overlap, each device of the audience has one delivery, and the counts are exact.
 */
import { pushTaskState } from '@hermod/protocol'
import { isFullRun, testBackends } from '@hermod/testkit'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { DatabasePlace } from '../../support/database/database-place.js'
import {
  addApp,
  certificates,
  Killed,
  oneDevice,
  PagePlace,
  type Person,
} from '../../support/push/page-place.js'

const usually = <T>(value: T, others: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(value) }, { weight: 1, arbitrary: others })
const person: fc.Arbitrary<Person> = fc.record({
  bindings: fc.uniqueArray(
    fc.record({
      deviceSn: fc.integer({ min: 1, max: 2 }),
      name: fc.constantFrom(...certificates.map(({ name }) => name), 'unknown'),
    }),
    { maxLength: 3, selector: ({ deviceSn, name }) => `${deviceSn} ${name}` },
  ),
  connected: usually<number[]>([], fc.subarray([1, 2], { minLength: 1 })),
  isDisabled: usually(false, fc.constant(true)),
  isDeleted: usually(false, fc.constant(true)),
  hasPushesOff: usually(false, fc.constant(true)),
})
/** Users without a device, in rows longer than a page. */
const withoutDevice = person.map((one) => ({ ...one, bindings: [] }))
const population = fc
  .array(
    fc.oneof(
      { weight: 4, arbitrary: person.map((one) => [one]) },
      { weight: 1, arbitrary: fc.array(withoutDevice, { maxLength: 14 }) },
    ),
    { maxLength: 25, size: 'max' },
  )
  .map((groups) => groups.flat())

type Step =
  /** A run that ends before a part, and is not repeated at once. */
  | { readonly kind: 'kill'; readonly before: number }
  /** A run whose node is killed after the page, so that the job runs again. */
  | { readonly kind: 'repeat' }
  /** Two runs of a page at once. */
  | { readonly kind: 'twice' }
  | { readonly kind: 'run' | 'cancel' | 'endTime' }

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('kill' as const),
      before: fc.integer({ min: 1, max: 4 }),
    }),
  },
  { weight: 3, arbitrary: fc.constantFrom<Step>({ kind: 'repeat' }, { kind: 'twice' }) },
  { weight: 5, arbitrary: fc.constant<Step>({ kind: 'run' }) },
  { weight: 1, arbitrary: fc.constantFrom<Step>({ kind: 'cancel' }, { kind: 'endTime' }) },
)

for (const backend of testBackends()) {
  describe(`pages of an audience on ${backend.name}`, { timeout: 120_000 }, () => {
    let database: DatabasePlace
    let place: PagePlace

    async function newDatabase(): Promise<DatabasePlace> {
      const created = await DatabasePlace.create(backend, {}, { goesByProcess: true })
      await addApp(created.database)
      return created
    }

    beforeAll(async () => {
      database = await newDatabase()
      place = new PagePlace(database.database)
    })
    afterAll(() => database?.[Symbol.asyncDispose]())

    async function take(
      place: PagePlace,
      taskId: number,
      { kind, ...options }: Step,
    ): Promise<void> {
      if (kind === 'cancel') return place.cancel(taskId)
      if (kind === 'endTime') return place.endTime()
      const jobs = await place.jobs()
      const job = jobs.at(-1)
      if (!job) return
      const { page } = job
      if (kind === 'kill') {
        const { before: killBefore } = options as { before: number }
        const run = place.write(page, { killBefore })
        const isKilled = await run.then(
          () => false,
          (error) => error instanceof Killed || Promise.reject(error),
        )
        if (!isKilled) await place.finishJob(page)
        return
      }
      if (kind === 'twice') await Promise.all([place.write(page), place.write(page)])
      else await place.write(page)
      if (kind !== 'repeat') await place.finishJob(page)
    }

    it('write each device of the audience once, and end where the task ends', async () => {
      // No other test's: a run that a time limit has cut off may still write.
      await using own = await newDatabase()
      const place = new PagePlace(own.database)
      let devices = 0
      await fc.assert(
        fc.asyncProperty(
          population,
          fc.constantFrom('combined', 'corepush_only', 'ospush_only'),
          fc.array(step, { maxLength: 12 }),
          async (people, strategy, steps) => {
            await place.fill(people)
            const taskId = await place.start({ kind: 'all' }, strategy)
            for (const each of steps) {
              await take(place, taskId, each)
              await place.requireExact(taskId)
            }
            await place.finish()
            await place.requireExact(taskId)
            const { position, state, isOpen } = await place.task(taskId)
            expect(isOpen).toBe(false)
            const wanted = await place.expected(strategy, Number(position))
            expect(await place.deliveries(taskId)).toEqual(wanted)
            if (!steps.some(({ kind }) => kind === 'cancel' || kind === 'endTime')) {
              expect(state).toBe(pushTaskState.expanded)
              expect(wanted).toEqual(await place.expected(strategy))
            }
            const shown = wanted.filter((text) => text.split(' ')[2] === '0')
            const told = new Set(shown.map((text) => Number(text.split(' ')[0])))
            for (const [userId, badge] of await place.badges())
              expect([userId, badge]).toEqual([userId, Number(told.has(userId))])
            devices += wanted.length
          },
        ),
        { numRuns: isFullRun ? 100 : 20 },
      )
      expect(devices).toBeGreaterThan(20)
    })

    const people = (count: number) => Array.from({ length: count }, () => oneDevice)
    const batches = async (taskId: number) => {
      const rows = await place.database.read((db) =>
        db
          .selectFrom('push_deliveries')
          .select(['batch_id', 'user_id'])
          .where('task_id', '=', taskId)
          .orderBy('user_id')
          .execute(),
      )
      return [...new Set(rows.map(({ batch_id }) => batch_id))].map(
        (batchId) => rows.filter(({ batch_id }) => batch_id === batchId).length,
      )
    }

    it('a page ends after its devices, and its last part orders the next page, once', async () => {
      await place.fill(people(10))
      const taskId = await place.start()
      const [first] = await place.jobs()
      expect(first).toMatchObject({ kind: 'push.send', page: { page: 1, batchId: taskId } })
      if (first) await place.write(first.page)
      if (first) await place.write(first.page)
      const jobs = await place.jobs()
      expect(jobs.map(({ kind, page: { page } }) => [kind, page])).toEqual([
        ['push.send', 1],
        ['push.send_audience', 2],
      ])
      await place.finish()
      expect(await batches(taskId)).toEqual([4, 4, 2])
      expect((await place.task(taskId)).estimatedUsers).toBe(10)
    })

    it('a page ends after its users where few have a device', async () => {
      await place.fill(people(0))
      const taskId = await place.start({ kind: 'user_id', values: people(30).map((_, i) => i + 1) })
      const [first] = await place.jobs()
      if (first) await place.write(first.page)
      expect(await place.task(taskId)).toMatchObject({ page: 2, position: 12, estimatedUsers: 30 })
    })

    it('a run that is killed between two parts leaves the written part, and the next run continues', async () => {
      await place.fill(people(6))
      const taskId = await place.start()
      const [first] = await place.jobs()
      if (!first) throw new Error('the task has a job')
      await expect(place.write(first.page, { killBefore: 2 })).rejects.toBeInstanceOf(Killed)
      expect(await place.task(taskId)).toMatchObject({ devices: 2, position: place.userId(1) })
      await place.finish()
      expect(await place.deliveries(taskId)).toHaveLength(6)
      await place.requireExact(taskId)
    })

    it('a task that is cancelled between two parts keeps the targets that it reached', async () => {
      await place.fill(people(10))
      const taskId = await place.start()
      const [first] = await place.jobs()
      const before = async (part: number) => {
        if (part === 2) await place.cancel(taskId)
      }
      if (first) await place.write(first.page, { before })
      await place.finishJob({ taskId, page: 1, batchId: taskId })
      expect(await place.jobs()).toEqual([])
      const { position, state, devices } = await place.task(taskId)
      expect({ position, state, devices }).toEqual({
        position: place.userId(1),
        state: pushTaskState.cancelled,
        devices: 2,
      })
    })

    it('a task whose time ends between two parts is resolved with the targets that it reached', async () => {
      await place.fill(people(10))
      const taskId = await place.start()
      const [first] = await place.jobs()
      const before = async (part: number) => {
        if (part === 2) place.endTime()
      }
      if (first) await place.write(first.page, { before })
      await place.finishJob({ taskId, page: 1, batchId: taskId })
      expect(await place.jobs()).toEqual([])
      const { position, state, devices } = await place.task(taskId)
      expect({ position, state, devices }).toEqual({
        position: place.userId(1),
        state: pushTaskState.expanded,
        devices: 2,
      })
    })

    it('the next page waits while all certificates of a page are held back', async () => {
      const other = { ...oneDevice, bindings: [{ deviceSn: 1, name: 'handsets' }] }
      const held = (retryAfterMs: number) =>
        ({ kind: 'held_back', code: 'circuit_open', reason: '', retryAfterMs }) as const
      const accepted = { kind: 'accepted', messageId: '1' } as const
      await place.fill([...people(4), other, other, other, oneDevice, ...people(4)])
      await place.start()
      place.holds.note('app', 1, [held(15_000)])
      const runNext = async () => {
        const job = (await place.jobs()).at(-1)
        if (job) await place.write(job.page)
        return ((await place.jobs()).at(-1)?.runAt ?? 0) - place.now
      }
      expect(await runNext()).toBe(15_000)
      // The second page has a certificate that is not held back.
      expect(await runNext()).toBe(0)
      place.holds.note('app', 1, [accepted])
      expect(await runNext()).toBe(0)
      place.holds.note('app', 1, [held(10)])
      await place.fill(people(9))
      await place.start()
      // Until the first answer after a hold, pages come one after another.
      expect(await runNext()).toBe(1_000)
    })

    it('the estimate counts the users with one of the tags, each once', async () => {
      await place.fill(people(3))
      await place.database.transaction(async (tx) => {
        for (const [index, tag] of [
          [0, 'a'],
          [0, 'b'],
          [1, 'b'],
          [2, 'c'],
        ] as const)
          await tx
            .insertInto('push_tags')
            .values({ app_id: 'app', user_id: place.userId(index), tag })
            .execute()
      })
      const taskId = await place.start({ kind: 'tag', values: ['a', 'b'] })
      await place.finish()
      expect(await place.task(taskId)).toMatchObject({ estimatedUsers: 2, devices: 2 })
    })
  })
}
