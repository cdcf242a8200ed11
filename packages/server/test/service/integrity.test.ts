import type { CheckReport } from '@hermod/protocol'
import { anyBackend, isFullRun, testBackends } from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { callHermod, runHermod } from '../support/hermod-command.js'
import { InProcessServer } from '../support/in-process-server.js'
import { type IntegrityCast, integrityCast } from '../support/integrity/cast.js'
import { apartFaults, type Fault, faultsOf, withFaults } from '../support/integrity/faults.js'
import { integrityFaults } from '../support/messaging/messaging.js'

describe.each(testBackends())('hermod check on $name', (backend) => {
  let watched: InProcessServer
  let cast: IntegrityCast

  beforeAll(async () => {
    // Of the disabled endpoint of the cast.
    watched = await InProcessServer.start(backend, { HERMOD_OUTBOUND_ALLOW: '127.0.0.1' })
    cast = await integrityCast(watched)
  })

  afterAll(() => watched?.[Symbol.asyncDispose]())

  const check = () => callHermod(['check', '--json'], watched.settings)

  const finding = ({ check, subject }: Fault) => ({
    check,
    app_id: 'test',
    subject,
    detail: expect.any(String),
  })

  /** One fault of each check. */
  const oneEach = () => [
    ...new Map(
      faultsOf(cast)
        .toReversed()
        .map((fault) => [fault.check, fault]),
    ).values(),
  ]

  it('finds no fault in the data of a server, while it runs and after', async () => {
    for (const stop of [async () => {}, () => watched.stop()]) {
      await stop()
      const { code, out, err } = await check()
      expect({ code, err }).toEqual({ code: 0, err: '' })
      const report: CheckReport = JSON.parse(out)
      const service = { state: 'serving', text: '', since: 0 }
      expect(report).toEqual({ checked: expect.any(Number), faults: [], truncated: false, service })
      expect(report.checked).toBeGreaterThan(20)
    }
  })

  // Each check has run on both databases above, and the output does not depend on the database.
  if (!anyBackend().some(({ name }) => name === backend.name)) return

  it('faults: the command names each with its subject and fails', async () => {
    // One of each kind of table; the running server is asked for all of them below.
    const kinds = ['conversation_end', 'message_order', 'reader_positions', 'settings_owner']
    const planted = oneEach().filter((fault) => kinds.includes(fault.check))
    expect(planted).toHaveLength(kinds.length)
    const { code, out, err } = await withFaults(watched.sql, planted, check)
    expect(code).toBe(1)
    expect(err).toContain('wrong')
    const found = (JSON.parse(out) as CheckReport).faults
    for (const fault of planted) expect(found).toContainEqual(finding(fault))
    expect(await check()).toMatchObject({ code: 0 })
  })

  it('a fault: the command prints text for people', async () => {
    const [fault] = faultsOf(cast) as [Fault]
    expect((await callHermod(['check'], watched.settings)).out).toMatch(
      /^\d+ facts checked, all agree\.\n$/,
    )
    const { code, out, err } = await withFaults(watched.sql, [fault], () =>
      runHermod(['check'], watched.settings),
    )
    expect(code).toBe(1)
    for (const word of [fault.check, fault.subject]) expect(out).toContain(word)
    expect(err).toContain('1 wrong')
  })

  it('a lost history: is a fault until it is acknowledged', async () => {
    const lost = faultsOf(cast).filter((fault) => fault.check === 'lost_history')
    await withFaults(watched.sql, lost, async () => {
      const { code, out } = await check()
      expect(code).toBe(1)
      expect(JSON.parse(out).faults).toEqual(lost.map(finding))
      expect(await callHermod(['check', '--acknowledge'], watched.settings)).toMatchObject({
        code: 0,
      })
      expect(await check()).toMatchObject({ code: 0 })
    })
  })

  // The full run has a check of all data for each of some 200 faults.
  const timeoutMs = isFullRun ? 600_000 : 120_000

  it('a running server: finds every kind of fault', { timeout: timeoutMs }, async () => {
    await watched.stop()
    await watched.startAgain()
    // The faults of a check have one statement.
    const planted = isFullRun ? faultsOf(cast).map((fault) => [fault]) : apartFaults(oneEach())
    for (const faults of planted) {
      const found = await withFaults(watched.sql, faults, () => integrityFaults(watched))
      for (const fault of faults)
        expect(found, fault.statements.join('; ')).toContainEqual(finding(fault))
    }
    expect(await integrityFaults(watched)).toEqual([])
  })

  it('many faults: lists 100 and says that there are more', async () => {
    const many = 150
    const users = Array.from({ length: many }, (_, index) => `('test', ${index + 1})`).join(', ')
    await watched.sql.run(`insert into user_settings (app_id, user_id) values ${users}`)
    const { api, operatorToken } = watched
    const { data } = await api.as(operatorToken).succeed<CheckReport>('POST', '/operator/v1/check')
    expect(data.truncated).toBe(true)
    expect(data.faults).toHaveLength(100)
    const { code, err } = await check()
    expect(code).toBe(1)
    expect(err).toContain('more than 100 wrong')
    await watched.sql.run(`delete from user_settings where user_id <= ${many}`)
    expect(await check()).toMatchObject({ code: 0 })
  })
})
