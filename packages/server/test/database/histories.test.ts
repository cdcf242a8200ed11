/** IDs and cursors of events over renewals of the epoch and restored states, against a model. */
import { type Backend, testBackends } from '@hermod/testkit'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { IdentityStore } from '../../dist/db/identity/identity-store.js'
import { EventIds } from '../../dist/domain/events/event-ids.js'
import { decodeCursor, encodeCursor } from '../../dist/domain/events/event-cursor.js'
import { OutboxStore } from '../../dist/outbox/outbox-store.js'
import { checkProperty, propertyTimeoutMs } from '../support/check-property.js'
import { DatabasePlace } from '../support/database/database-place.js'

const tables = ['histories', 'outbox_heads', 'apps', 'database_identity'] as const
const appNames = ['app-a', 'app-b', 'app-c']
const appRow = {
  name: '',
  status: 0,
  open_registration: 0,
  registration_secret: '',
  file_link_key: '',
  settings: '{}',
  created_at: 0,
}

type Step =
  | { readonly kind: 'create'; readonly app: number }
  | { readonly kind: 'append'; readonly app: number; readonly count: number }
  | { readonly kind: 'renew' }
  | { readonly kind: 'save' }
  | { readonly kind: 'restore' }

const steps: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant('create' as const), app: fc.nat(2) }),
  fc.record({
    kind: fc.constant('append' as const),
    app: fc.nat(2),
    count: fc.integer({ min: 1, max: 3 }),
  }),
  fc.constantFrom<Step>({ kind: 'renew' }, { kind: 'save' }, { kind: 'restore' }),
)

/** An event as a reader has got it. */
interface Read {
  readonly id: string
  readonly cursor: string
}

/** The events of each application that the database has now, in the order of their positions. */
type Model = ReadonlyMap<string, readonly Read[]>

class HistoryWorld {
  readonly #identity = new IdentityStore()
  readonly #outbox: OutboxStore
  #model: Model = new Map()
  /** Every event that was ever read, with its application. */
  readonly #reads: { readonly appId: string; readonly read: Read }[] = []
  #saved: { readonly model: Model; readonly rows: readonly (readonly object[])[] } | null = null

  constructor(private readonly place: DatabasePlace) {
    this.#outbox = new OutboxStore(place.database)
  }

  async run(step: Step): Promise<void> {
    const { database } = this.place
    if (step.kind === 'save') this.#saved = { model: this.#model, rows: await this.#rows() }
    else if (step.kind === 'renew') await database.transaction((tx) => this.#identity.renew(tx))
    else if (step.kind === 'restore') await this.#restore()
    else {
      const appId = appNames[step.app] as string
      if (step.kind === 'create') await this.#create(appId)
      else await this.#append(appId, step.count)
    }
    await this.#check()
  }

  async #create(appId: string): Promise<void> {
    if (this.#model.has(appId)) return
    await this.place.database.transaction(async (tx) => {
      await tx
        .insertInto('apps')
        .values({ app_id: appId, ...appRow })
        .execute()
      await this.#identity.addHistory(tx, appId)
    })
    this.#model = new Map([...this.#model, [appId, []]])
  }

  async #append(appId: string, count: number): Promise<void> {
    const events = this.#model.get(appId)
    if (events === undefined) return
    const { database } = this.place
    await database.transaction((tx) => this.#outbox.advance(tx, appId, count))
    const added = await Promise.all(
      Array.from({ length: count }, (_, index) => this.#read(appId, events.length + index + 1)),
    )
    this.#model = new Map([...this.#model, [appId, [...events, ...added]]])
    this.#reads.push(...added.map((read) => ({ appId, read })))
  }

  /** Reads an event as a process that starts now. */
  async #read(appId: string, position: number): Promise<Read> {
    const histories = await this.#histories()
    return {
      id: new EventIds(histories).of(appId, { position, name: '' }),
      cursor: encodeCursor({ appId, epoch: histories.current }, { position, place: 0 }),
    }
  }

  async #histories() {
    return this.place.database.read((db) => this.#identity.histories(db))
  }

  async #rows(): Promise<(readonly object[])[]> {
    const { database } = this.place
    return Promise.all(
      tables.map((table) => database.read((db) => db.selectFrom(table).selectAll().execute())),
    )
  }

  /** Puts the saved state back, as a restored backup does, and renews the epoch. */
  async #restore(): Promise<void> {
    const saved = this.#saved
    if (saved === null) return
    await this.place.database.transaction(async (tx) => {
      for (const [index, table] of tables.entries()) {
        await tx.deleteFrom(table).execute()
        const rows = saved.rows[index] ?? []
        if (rows.length > 0)
          await tx
            .insertInto(table)
            .values(rows as never)
            .execute()
      }
      await this.#identity.renew(tx)
    })
    this.#model = saved.model
  }

  async #check(): Promise<void> {
    const histories = await this.#histories()
    const ids = new EventIds(histories)
    for (const [appId, events] of this.#model)
      expect(events.map((_, index) => ids.of(appId, { position: index + 1, name: '' }))).toEqual(
        events.map(({ id }) => id),
      )
    expect(new Set(this.#reads.map(({ read }) => read.id)).size).toBe(this.#reads.length)
    for (const { appId, read } of this.#reads) {
      const isKept = this.#model.get(appId)?.includes(read) ?? false
      expect([read, isAccepted(read.cursor, { appId, histories })]).toEqual([read, isKept])
    }
  }
}

function isAccepted(cursor: string, scope: Parameters<typeof decodeCursor>[1]): boolean {
  try {
    return decodeCursor(cursor, scope) !== null
  } catch {
    return false
  }
}

describe.each(testBackends())('histories of events on $name', (backend: Backend) => {
  let place: DatabasePlace

  beforeAll(async () => {
    place = await DatabasePlace.create(backend)
  })
  afterAll(() => place?.[Symbol.asyncDispose]())

  it('a kept event keeps its ID, no other event ever has it, and its cursor is accepted exactly while the database has it', {
    timeout: propertyTimeoutMs,
  }, async () => {
    await checkProperty(
      backend,
      fc.asyncProperty(fc.array(steps, { maxLength: 25 }), async (all) => {
        await place.database.transaction(async (tx) => {
          for (const table of ['histories', 'outbox_heads', 'apps'] as const)
            await tx.deleteFrom(table).execute()
        })
        const world = new HistoryWorld(place)
        for (const step of all) await world.run(step)
      }),
    )
  })

  it('a reader at the end of the log goes on there after renewals without events', async () => {
    const identity = new IdentityStore()
    const outbox = new OutboxStore(place.database)
    const appId = 'app-quiet'
    const { database } = place
    await database.transaction(async (tx) => {
      await tx
        .insertInto('apps')
        .values({ app_id: appId, ...appRow })
        .execute()
      await identity.addHistory(tx, appId)
      await outbox.advance(tx, appId, 5)
    })
    const cursors: string[] = []
    for (let renewals = 0; renewals < 3; renewals++) {
      const epoch = await database.transaction((tx) => identity.renew(tx))
      cursors.push(encodeCursor({ appId, epoch }, { position: 5, place: 0 }))
    }
    const histories = await database.read((db) => identity.histories(db))
    for (const cursor of cursors)
      expect(decodeCursor(cursor, { appId, histories })).toEqual({ position: 5, place: 0 })
    const [first = ''] = cursors
    const later = [
      { position: 6, place: 0 },
      { position: 5, place: 1 },
    ].map((at) => encodeCursor({ appId, epoch: first.split('~')[0] ?? '' }, at))
    for (const cursor of later)
      expect(() => decodeCursor(cursor, { appId, histories })).toThrow('lost events')
  })
})
