/** A login that is under way while the password changes (rules C6, D3), on both databases. */
import { type Api, type Session, testBackends, waitFor } from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import { countOfWaiting, openSql } from '../support/database/sql.js'
import { WatchedServer } from '../support/watched-server.js'

const timeoutMs = 30_000
const oldPassword = 'correct horse'
const newPassword = 'battery staple'

describe.each(testBackends('durable'))(
  'a login beside a change of the password on $name',
  (backend) => {
    let watched: WatchedServer
    let api: Api

    beforeAll(async () => {
      watched = await WatchedServer.start(backend)
      api = watched.server.api
    })

    afterAll(() => watched?.[Symbol.asyncDispose]())

    const logIn = (user: Pick<Session, 'id'>, password: string) =>
      api.call('POST', '/token/id', { body: { user_id: user.id, password } })

    /** Resolves when a login that was begun before has checked its password and waits for the database. */
    async function untilWaiting(): Promise<void> {
      if (watched.databaseUrl !== undefined) {
        const isWaiting = async () => Number((await watched.sql.run(countOfWaiting))[0]?.count) > 0
        return void (await waitFor(isWaiting, { what: 'the login to wait', timeoutMs }))
      }
      // Passwords are checked in the order of the calls, and a wrong one writes nothing.
      for (let guess = 0; guess < 3; guess++) {
        const stranger = await strangers.shift()
        if (stranger) await logIn(stranger, newPassword)
      }
    }
    const strangers: Session[] = []

    it('is refused when the change is stored first, and leaves no token that works', async () => {
      const alice = await api.newLogin()
      const { id: bob } = await api.register(undefined, newPassword)
      for (let count = 0; count < 3; count++) strangers.push(await api.newLogin())
      await using change = await openSql(watched.place)
      await change.run(backend.name === 'sqlite' ? 'begin immediate' : 'begin')
      if (backend.name !== 'sqlite')
        await change.run(`select 1 from users where user_id = ${alice.id} for update`)
      await change.run(
        `update users set password_hash = (select password_hash from users where user_id = ${bob}) where user_id = ${alice.id}`,
      )
      const login = logIn(alice, oldPassword)
      await untilWaiting()
      await change.run('commit')
      expect(await login).toMatchObject({ code: answerCode.password_incorrect, data: null })
      const tokens = `select count(*) as count from user_tokens where user_id = ${alice.id}`
      expect(await watched.sql.run(tokens)).toEqual([{ count: 1 }])
      expect(await logIn(alice, oldPassword)).toMatchObject({ code: answerCode.password_incorrect })
      expect(await logIn(alice, newPassword)).toMatchObject({ code: 200 })
    })

    // SQLite has one writer, for which everybody waits.
    if (backend.name === 'postgres')
      it('does not wait for the deletion of somebody else', async () => {
        const [alice, bob] = [await api.newLogin(), await api.newLogin()]
        // So few users are found soonest by reading all of them, once PostgreSQL knows how few they are.
        await watched.sql.run('analyze users')
        await using deletion = await openSql(watched.place)
        await deletion.run('begin')
        await deletion.run(`select pg_advisory_xact_lock(${bob.id})`)
        expect(await logIn(alice, alice.password)).toMatchObject({ code: 200 })
        await deletion.run('rollback')
      })
  },
)
